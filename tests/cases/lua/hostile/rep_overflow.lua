-- error: a length that does not fit
-- says: resulting string too large
return string.rep("abc", math.maxinteger, "xyz")
