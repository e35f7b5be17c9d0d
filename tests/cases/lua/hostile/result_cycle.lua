-- limit: what is returned contains itself
local t = {} t.t = t
return t
