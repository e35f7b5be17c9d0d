-- returns: the largest fields
local t = {year = 2 ^ 30, month = 2 ^ 30, day = 2 ^ 30, hour = 2 ^ 30, min = 2 ^ 30, sec = 2 ^ 30}
pcall(os.time, t)
return true
