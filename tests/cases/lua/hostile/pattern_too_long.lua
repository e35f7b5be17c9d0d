-- error: a pattern of a megabyte
-- says: a pattern has at most
return string.find("a", string.rep("[a]", 300000))
