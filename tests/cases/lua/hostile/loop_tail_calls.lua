-- timeout: calls that take no stack
local function f() return f() end
return f()
