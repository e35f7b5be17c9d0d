-- timeout: thirty captures, again and again
local s, p = string.rep("x", 1000), string.rep("()", 32)
while true do string.gsub(s, p, "%1") end
