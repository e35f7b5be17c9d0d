-- timeout: the same by those of utf8
local s = string.rep("x", 4000000)
while true do utf8.len(s) utf8.offset(s, 3999999) end
