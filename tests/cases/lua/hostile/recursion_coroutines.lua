-- error: a coroutine in a coroutine
local function f() return coroutine.wrap(f)() end
return f()
