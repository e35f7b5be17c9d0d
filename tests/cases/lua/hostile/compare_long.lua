-- timeout: long strings that differ at their end
local a, b = string.rep("\0", 4000000) .. "a", string.rep("\0", 4000000) .. "b"
while true do local _ = a < b end
