-- error: a coroutine that ended
-- says: cannot resume dead coroutine
local f = coroutine.wrap(function() end) f() f()
