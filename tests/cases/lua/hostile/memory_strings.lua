-- limit or timeout: short strings
local t, n = {}, 0 while true do n = n + 1 t[n] = "string " .. n end
