-- limit: twice as long each time
local s = "x" while true do s = s .. s end
