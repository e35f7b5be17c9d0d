-- limit or error or returns: an error while a stack overflow is handled
local function h(e) local function g() return g() + 1 end return g() end
local function f() return f() + 1 end
xpcall(f, h)
return true
