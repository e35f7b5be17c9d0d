-- limit: iterators that were begun
local t = {} while true do t[#t + 1] = string.gmatch("a", "a") end
