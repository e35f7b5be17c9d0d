-- timeout: the same while an error goes up
pcall(function()
  local x <close> = setmetatable({}, {__close = function() while true do end end})
  error("up")
end)
return true
