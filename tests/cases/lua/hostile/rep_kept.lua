-- limit: the longest string, kept
local t = {} while true do t[#t + 1] = string.rep("x", 1000000) .. #t end
