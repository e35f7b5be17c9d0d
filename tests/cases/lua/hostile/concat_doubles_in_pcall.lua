-- limit: the same, and nothing catches it
local s = "x" while true do pcall(function() while true do s = s .. s end end) end
