-- timeout: an iterator that is asked again when it has ended
local next_word = string.gmatch("a", "%w")
while true do next_word() end
