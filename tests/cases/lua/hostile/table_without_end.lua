-- limit: a table that grows
local t = {} while true do t[#t + 1] = t end
