-- timeout: reading a global never ends
setmetatable(_G, {__index = function() while true do end end})
return anything
