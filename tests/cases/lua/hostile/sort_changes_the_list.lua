-- returns: a comparison that empties what is sorted
local t = {} for i = 1, 1000 do t[i] = (i * 7919) % 1000 end
table.sort(t, function(a, b) for i = #t, 1, -1 do t[i] = nil end return a < b end)
return #t == 1000 and t[1] == 0 and t[1000] == 999
