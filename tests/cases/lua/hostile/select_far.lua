-- error: arguments that are not there
-- says: index out of range
return select(-1000000000, 1)
