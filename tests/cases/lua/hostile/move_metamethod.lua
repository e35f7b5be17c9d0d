-- timeout: a range of a list that has everything
return table.move(setmetatable({}, {__index = function() return 1 end}), 1, math.maxinteger - 1, 1, {})
