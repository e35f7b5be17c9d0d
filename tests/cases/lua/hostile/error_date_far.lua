-- error: a date that there is not
-- says: there is no date
return os.date("%Y", math.maxinteger)
