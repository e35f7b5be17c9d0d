-- returns: a length that is none
local t = setmetatable({}, {__len = function() return math.maxinteger - 1 end, __index = function() return 1 end})
table.insert(t, 1, 1)
return rawlen(t) == 1
