-- error: nothing, and something between
-- says: resulting string too large
return string.rep("", 1000000000, "x")
