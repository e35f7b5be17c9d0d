-- timeout: the same in gsub
return (string.gsub(string.rep("x", 100000), ".-.-.-y", ""))
