-- returns: one that is set later is never run
local ran, m = false, {}
for i = 1, 100 do setmetatable({}, m) end
m.__gc = function() ran = true while true do end end
for i = 1, 100 do pcall(setmetatable, {}, m) end
for i = 1, 200000 do local t = {i} end
collectgarbage()
return not ran
