-- error: a precision of thousands
-- says: invalid conversion
return string.format("%.99999f", 1)
