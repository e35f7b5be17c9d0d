-- timeout: each removal moves all
local t = {} for i = 1, 200000 do t[i] = i end
while true do t[#t + 1] = table.remove(t, 1) end
