-- limit or error or timeout: twice as many each time
local function f(...) return f(table.unpack({...}), ...) end
return f(1, 2, 3)
