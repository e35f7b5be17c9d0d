-- error: __tostring asks itself
-- says: stack overflow
local t t = setmetatable({}, {__tostring = function() return tostring(t) end})
return tostring(t)
