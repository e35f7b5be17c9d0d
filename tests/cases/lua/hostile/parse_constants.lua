-- returns: very many constants
local t = {} for i = 1, 5000 do t[i] = "'k" .. i .. "'" end
return #load("return {" .. table.concat(t, ",") .. "}")() == 5000
