-- timeout: a pattern of twenty characters, a string of thirty
return string.find(string.rep("a", 30), string.rep("a-", 15) .. "b")
