-- error: closing in closing
-- says: stack overflow
local function f() local x <close> = setmetatable({}, {__close = f}) end
f()
