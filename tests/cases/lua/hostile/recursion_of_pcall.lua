-- returns: pcall in pcall in pcall
local function f() return pcall(f) end
f()
local function g() return pcall(pcall, g) end
g()
return true
