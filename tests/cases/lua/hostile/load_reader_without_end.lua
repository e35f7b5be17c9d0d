-- error: source that never ends
-- says: load() takes at most
return load(function() return " " end)
