-- error: where something is in memory
-- says: invalid conversion
return string.format("%p", {})
