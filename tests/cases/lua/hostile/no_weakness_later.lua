-- returns: one that is set later has no effect
local m = {}
local weak = setmetatable({}, m)
m.__mode = "k"
weak[{}] = true
for i = 1, 300000 do local t = {i} end
return next(weak) ~= nil
