-- timeout or limit: many arguments
local t = {} for i = 1, 9999 do t[i] = 65 end
while true do string.char(table.unpack(t)) end
