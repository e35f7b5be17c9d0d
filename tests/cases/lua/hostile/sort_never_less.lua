-- returns: a comparison that says no order
local t = {} for i = 1, 1000 do t[i] = i % 7 end
table.sort(t, function() return true end)
table.sort(t, function() return false end)
return #t == 1000
