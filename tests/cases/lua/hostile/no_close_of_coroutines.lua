-- error: coroutine.close nests without being counted
-- says: attempt to call a nil value (field 'close')
return coroutine.close(coroutine.create(print))
