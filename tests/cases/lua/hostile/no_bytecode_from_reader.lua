-- returns: nor piece by piece
local i, p = 0, {"\27", "L", "ua"}
return load(function() i = i + 1 return p[i] end, "b", "b") == nil
