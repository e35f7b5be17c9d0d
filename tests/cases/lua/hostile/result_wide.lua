-- limit: what is returned is wide
local t = {} for i = 1, 100000 do t[i] = i end
return t
