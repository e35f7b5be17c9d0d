-- error: nor a function of C
-- says: attempt to yield across
local co = coroutine.wrap(function() table.sort({1, 2}, function() coroutine.yield() end) end)
co()
