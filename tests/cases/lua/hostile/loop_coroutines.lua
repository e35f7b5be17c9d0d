-- timeout: many of them, each short
while true do coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)() end
