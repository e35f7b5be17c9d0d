-- timeout: looking for what is left
local t = {} for i = 1, 100000 do t[i + 0.5] = i end
for k in pairs(t) do t[k] = nil end
while true do next(t) end
