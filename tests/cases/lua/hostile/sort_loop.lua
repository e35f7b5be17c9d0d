-- timeout: a long list, again and again
local t = {} for i = 1, 100000 do t[i] = -i end
while true do table.sort(t) table.sort(t, function(a, b) return a > b end) end
