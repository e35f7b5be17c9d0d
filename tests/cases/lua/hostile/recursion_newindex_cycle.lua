-- error: the same for writing
-- says: loop
local a, b = {}, {}
setmetatable(a, {__newindex = b}) setmetatable(b, {__newindex = a})
a.x = 1
