-- timeout: looking for what is left, a few times in each coroutine
local t = {} for i = 1, 100000 do t[i + 0.5] = i end
for k in pairs(t) do t[k] = nil end
local function look() while true do for _ = 1, 12 do next(t) end coroutine.yield() end end
local co = coroutine.wrap(look)
while true do co() for _ = 1, 12 do next(t) end end
