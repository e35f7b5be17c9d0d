-- returns: metatables of what is returned are not asked
local m = {__index = error, __len = error, __pairs = error, __tostring = error, __metatable = error}
local r = setmetatable({}, m)
r[1] = true
return true, r
