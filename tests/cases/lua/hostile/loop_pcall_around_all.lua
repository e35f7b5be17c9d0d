-- timeout: nor does one around everything
local ok = pcall(function() while true do end end)
while true do end
return ok
