-- timeout: __index never returns
local t = setmetatable({}, {__index = function() while true do end end})
return t.status
