-- timeout or limit or returns: many comparisons of long strings
local t, s = {}, string.rep("\0", 60000)
for i = 1, 200 do t[i] = s .. (i * 7919 % 200) end
table.sort(t)
return #t == 200
