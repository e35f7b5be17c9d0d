-- returns: the same with operators
return load("return " .. string.rep("- ", 30000) .. "1") == nil and load("return " .. string.rep("a^", 30000) .. "a") == nil
