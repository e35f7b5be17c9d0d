-- limit: coroutines that wait
local t = {} while true do local co = coroutine.wrap(function() coroutine.yield() end) co() t[#t + 1] = co end
