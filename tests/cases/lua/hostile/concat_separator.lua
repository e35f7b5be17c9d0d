-- limit: what is between is long
local t = {} for i = 1, 10000 do t[i] = "" end
return #table.concat(t, string.rep("x", 10000))
