-- error: what all strings have is not to be had
-- says: attempt to index a boolean value
getmetatable("").__index = function() return "poisoned" end
