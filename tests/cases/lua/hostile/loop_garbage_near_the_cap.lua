-- timeout or limit: garbage while nearly all memory is in use
local kept = {}
for i = 1, 100000 do kept[i] = {i} end
while true do local t = {} for i = 1, 100 do t[i] = {} end end
