-- error: more captures than there may be
-- says: too many captures
return string.find("a", string.rep("()", 100))
