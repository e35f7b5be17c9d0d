-- timeout: a pattern function as a metamethod
return setmetatable({}, {__index = function(_, k) return string.find(k, string.rep("x-", 12) .. "y") end})[string.rep("x", 10000)]
