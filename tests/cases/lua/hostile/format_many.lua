-- limit or timeout or error: a million conversions, again and again: how many fit into the time is the machine's
local t = {} for i = 1, 9999 do t[i] = 1e308 end
local form, length = string.rep("%99.99f", 9999), 0
while true do length = length + #string.format(form, table.unpack(t)) end
