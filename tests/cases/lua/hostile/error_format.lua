-- error: an error that looks like a format
-- says: %s%n%d
error("%s%n%d")
