-- limit: nor does a coroutine
coroutine.resume(coroutine.create(function() local t = {} while true do t[#t + 1] = {} end end))
return true
