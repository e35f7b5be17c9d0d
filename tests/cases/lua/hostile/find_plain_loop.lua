-- timeout: plain text that is nearly there
local text, what = string.rep("a", 1000000), string.rep("a", 500000) .. "b"
while true do string.find(text, what, 1, true) end
