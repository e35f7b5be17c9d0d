-- timeout: the longest string, again and again
while true do string.rep("x", 4000000) end
