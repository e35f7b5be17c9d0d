-- timeout: each call makes two, pcall around each
local function f() pcall(f) pcall(f) end
f()
return true
