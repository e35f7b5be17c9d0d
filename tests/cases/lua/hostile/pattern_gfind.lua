-- timeout: the same under its old name
for _ in string.gfind(string.rep("x", 100000), "x*x*x*y") do end
