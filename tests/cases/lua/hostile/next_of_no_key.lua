-- error: a key that is not there
-- says: invalid key to
local t = {} for i = 1, 100 do t[i] = i end
return next(t, "none")
