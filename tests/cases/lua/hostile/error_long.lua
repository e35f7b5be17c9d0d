-- error: an error of three megabytes
-- says: xxxxxxxx
error(string.rep("x", 3000000))
