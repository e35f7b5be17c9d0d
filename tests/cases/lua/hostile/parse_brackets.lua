-- returns: source that nests ten thousand deep
return load("return " .. string.rep("(", 10000) .. "1" .. string.rep(")", 10000)) == nil
