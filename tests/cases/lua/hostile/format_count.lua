-- error: what printf() writes to
-- says: invalid conversion
return string.format("%n", 1)
