-- returns: bytecode is not loaded
local f, why = load("\27Lua\x54\0\x19\x93\r\n\x1a\n", "b", "bt")
return f == nil and why ~= nil and load("\27Lua", "b", "b") == nil
