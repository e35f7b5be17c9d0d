-- timeout: a number with four million digits
local s = string.rep("0", 4000000) .. "1"
while true do local _ = s + 1 end
