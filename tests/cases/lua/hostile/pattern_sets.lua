-- timeout: a pattern of thousands of sets, on nothing
local p = string.rep("[%W%w]", 2000)
while true do string.find("", p) end
