-- timeout: compiling without an end
while true do load("local x = 1 return x")() end
