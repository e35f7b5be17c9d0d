-- limit: what is returned is deep
local t = {} for i = 1, 100000 do t = {t} end
return t
