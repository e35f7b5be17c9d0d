-- timeout: the same as a method
return (string.rep("x", 100000)):find("x-x-x-y")
