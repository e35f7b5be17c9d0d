-- timeout: __lt never returns
local m = {__lt = function() while true do end end}
table.sort({setmetatable({}, m), setmetatable({}, m)})
