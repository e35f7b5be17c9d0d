-- timeout: the same in pcall
while true do pcall(string.find, string.rep("x", 100000), "x*x*x*y") end
