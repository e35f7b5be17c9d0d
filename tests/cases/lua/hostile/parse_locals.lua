-- returns: more local variables than there may be
local t = {} for i = 1, 300 do t[i] = "local x" .. i end
return load(table.concat(t, "\n")) == nil
