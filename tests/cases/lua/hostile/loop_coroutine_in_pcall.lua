-- timeout: a coroutine in pcall in a coroutine
local function nested()
  pcall(coroutine.wrap(function() pcall(function() while true do end end) while true do end end))
  while true do end
end
coroutine.resume(coroutine.create(nested))
coroutine.resume(coroutine.create(nested))
return true
