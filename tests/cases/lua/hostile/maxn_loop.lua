-- timeout: a long table is looked through, again and again
local t = {} for i = 1, 100000 do t[i] = i end
while true do table.maxn(t) table.getn(t) end
