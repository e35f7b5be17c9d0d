-- returns: the largest intervals
math.random(math.mininteger, math.maxinteger) math.random(0)
return not pcall(math.random, 2, 1)
