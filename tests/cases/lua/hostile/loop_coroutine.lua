-- timeout: in a coroutine, which has a hook of its own
coroutine.resume(coroutine.create(function() while true do end end))
return true
