-- error: a range without an end over a list that has everything
-- says: invalid value (nil) at index 1
return table.concat(setmetatable({}, {__index = function() return "" end}), "", 1, math.maxinteger)
