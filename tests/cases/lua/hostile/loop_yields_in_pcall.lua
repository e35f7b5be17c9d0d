-- timeout: one that yields in pcall
local co = coroutine.wrap(function() while true do pcall(coroutine.yield, 1) end end)
while true do co() end
