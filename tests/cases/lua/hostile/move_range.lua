-- timeout: a range that is no list
return table.move({}, 1, math.maxinteger - 1, 2)
