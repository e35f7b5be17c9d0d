-- returns: a chain of them in the worst order does not hold up the collector
local m = {}
local weak, keys = setmetatable({}, m), {}
for i = 1, 30000 do keys[i] = {} end
for i = 1, 29999 do weak[keys[i]] = keys[i + 1] end
m.__mode = "k"
local first = keys[1]
keys = nil
for i = 1, 300000 do local t = {i} end
return weak[first] ~= nil
