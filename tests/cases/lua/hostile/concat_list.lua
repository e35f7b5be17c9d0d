-- limit: one string a thousand times
local s, t = string.rep("x", 1000000), {} for i = 1, 1000 do t[i] = s end
return #table.concat(t)
