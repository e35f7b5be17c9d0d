-- timeout or limit: long keys
local t = {} while true do t[string.rep("x", 1000000) .. #t] = nil end
