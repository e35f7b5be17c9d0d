-- timeout: pcall does not catch the end
while true do pcall(function() while true do end end) end
