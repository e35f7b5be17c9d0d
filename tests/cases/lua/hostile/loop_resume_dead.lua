-- timeout: one that is dead
local co = coroutine.create(print)
coroutine.resume(co)
while true do coroutine.resume(co) end
