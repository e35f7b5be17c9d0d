-- error: tables whose __index is a circle
-- says: loop
local a, b = {}, {}
setmetatable(a, {__index = b}) setmetatable(b, {__index = a})
return a.x
