-- error: an error that speaks of another file
-- says: other.lua:1: not me
error("other.lua:1: not me", 0)
