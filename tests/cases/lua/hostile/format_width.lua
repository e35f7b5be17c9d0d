-- error: a width of thousands
-- says: invalid conversion
return string.format("%99999d", 1)
