-- error: the same from a function of C
-- says: load() takes at most
return load(os.date)
