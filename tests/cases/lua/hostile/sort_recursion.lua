-- error: sort in sort in sort
-- says: stack overflow
local function f() table.sort({1, 2}, f) return true end
f()
