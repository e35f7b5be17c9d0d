-- limit: each character becomes many
return (string.gsub(string.rep("x", 100000), ".", string.rep("y", 10000)))
