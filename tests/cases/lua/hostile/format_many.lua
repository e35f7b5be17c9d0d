-- limit or timeout or error: a million conversions
local t = {} for i = 1, 9999 do t[i] = 1e308 end
return #string.format(string.rep("%99.99f", 9999), table.unpack(t))
