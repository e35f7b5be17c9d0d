-- timeout: the same in string.format
return string.format("%s", setmetatable({}, {__tostring = function() while true do end end}))
