-- timeout: a few stars on a long string
return string.match(string.rep("x", 100000), ".*.*.*.*y")
