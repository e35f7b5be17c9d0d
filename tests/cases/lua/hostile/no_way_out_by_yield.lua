-- error: the main chunk cannot be left
-- says: attempt to yield from outside a coroutine
coroutine.yield(1)
