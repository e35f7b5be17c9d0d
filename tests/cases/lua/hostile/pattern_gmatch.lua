-- timeout: the same in gmatch
for _ in string.gmatch(string.rep("x", 100000), "[^y]*[^y]*[^y]*y") do end
