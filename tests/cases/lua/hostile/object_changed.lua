-- returns: the object is the script's own
for k in pairs(obj) do obj[k] = nil end
obj.obj = obj
setmetatable(obj, {__index = error})
return true
