-- error: __index asks itself
-- says: stack overflow
local t t = setmetatable({}, {__index = function(_, k) return t[k .. "x"] end})
return t.a
