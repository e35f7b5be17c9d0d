-- returns: the same, caught
local function f() return coroutine.resume(coroutine.create(f)) end
f()
return true
