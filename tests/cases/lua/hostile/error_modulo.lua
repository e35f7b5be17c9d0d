-- error: the same for its rest
-- says: attempt to perform 'n
return math.mininteger % 0
