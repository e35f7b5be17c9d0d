-- timeout: the same by tonumber
local s = string.rep(" ", 4000000) .. "1"
while true do tonumber(s) tonumber(s, 36) end
