-- returns or timeout or limit: a comparison that makes it longer
local t = {} for i = 1, 100 do t[i] = i end
table.sort(t, function(a, b) for i = 1, 1000 do t[#t + 1] = i end return a < b end)
return true
