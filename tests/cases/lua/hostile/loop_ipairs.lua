-- timeout: a list without an end
for _ in ipairs(setmetatable({}, {__index = function() return 1 end})) do end
