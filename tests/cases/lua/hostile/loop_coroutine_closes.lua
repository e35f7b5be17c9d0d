-- timeout: a variable that is closed when its coroutine was killed
local slow = setmetatable({}, {__close = function() while true do end end})
local co = coroutine.wrap(function() local x <close> = slow while true do end end)
pcall(co)
return true
