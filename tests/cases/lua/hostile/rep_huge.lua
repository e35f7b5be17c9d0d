-- error: a string of a gigabyte
-- says: resulting string too large
return string.rep("x", 1000000000)
