-- timeout: a long table is put in order for its first key only
local t = {} for i = 1, 50000 do t[tostring(i)] = i end
while true do for _ in pairs(t) do break end end
