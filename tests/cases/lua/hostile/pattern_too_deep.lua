-- error: more ways inside of each other than there may be
-- says: pattern too complex
return string.find(string.rep("a", 1000), string.rep("a-", 300) .. "b")
