-- returns: an environment that is no table
local f = load("return x", "f", "t", 5)
return not pcall(f)
