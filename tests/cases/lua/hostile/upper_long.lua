-- timeout or limit: whole strings by functions of C
local s = string.rep("x", 4000000)
while true do s:upper():lower():reverse() end
