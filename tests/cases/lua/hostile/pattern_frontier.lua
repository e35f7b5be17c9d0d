-- timeout: frontiers everywhere
return string.find(string.rep("a ", 100000), "%f[%w].-%f[%W].-%f[%w].-%f[%W].-y")
