-- limit: a function that calls itself
local function f() return 1 + f() end
return f()
