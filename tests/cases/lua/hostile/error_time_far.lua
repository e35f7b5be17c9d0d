-- error: a year that there is not
-- says: out of range
return os.time({year = math.maxinteger, month = 1, day = 1})
