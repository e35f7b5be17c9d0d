-- timeout: one coroutine that is resumed, with too few instructions in between for a hook
local co = coroutine.create(function() while true do coroutine.yield() end end)
local resume = coroutine.resume
while true do resume(co) end
