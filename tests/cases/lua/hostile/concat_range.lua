-- error: a range without an end
-- says: invalid value (nil) at index 1
return table.concat({}, "", 1, math.maxinteger)
