-- error: source of a megabyte
-- says: load() takes at most
return load(string.rep(" ", 1000000))
