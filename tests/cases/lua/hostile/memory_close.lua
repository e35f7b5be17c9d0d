-- limit: nothing is closed
pcall(function() local x <close> = setmetatable({}, {__close = function() while true do end end})
  local t = {} while true do t[#t + 1] = {} end end)
return true
