-- timeout: the same for equality
local a, b = string.rep("x", 4000000) .. "a", string.rep("x", 4000000) .. "b"
while true do local _ = a == b end
