-- error: nor is this
-- says: which is no data
return coroutine.create(print)
