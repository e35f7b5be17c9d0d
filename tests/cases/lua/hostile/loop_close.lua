-- timeout: a variable whose closing never ends
do local x <close> = setmetatable({}, {__close = function() while true do end end}) end
return true
