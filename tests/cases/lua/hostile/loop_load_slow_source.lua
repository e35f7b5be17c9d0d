-- timeout: sources whose compilation takes longer the more they repeat
local source = "return " .. string.rep("a and ", 10000) .. "a"
while true do load(source) end
