-- timeout or limit: keys that all fall in one place
local t = {} for i = 1, 1 << 19 do t[i * ((1 << 19) - 1)] = true end
return true
