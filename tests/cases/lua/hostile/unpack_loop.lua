-- timeout: ten thousand results, again and again
local t = {} for i = 1, 10000 do t[i] = i end
while true do select("#", unpack(t)) end
