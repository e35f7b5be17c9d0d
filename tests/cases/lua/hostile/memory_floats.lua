-- limit: one key after the other
local t, n = {}, 0 while true do n = n + 0.5 t[n] = n end
