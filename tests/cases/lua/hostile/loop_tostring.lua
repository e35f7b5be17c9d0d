-- timeout: __tostring never returns
return tostring(setmetatable({}, {__tostring = function() while true do end end}))
