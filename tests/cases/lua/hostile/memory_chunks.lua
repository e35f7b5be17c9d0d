-- limit: compiled chunks
local t = {} while true do t[#t + 1] = load("return 1") end
