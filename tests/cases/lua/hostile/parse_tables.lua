-- returns: the same with tables
return load("return " .. string.rep("{", 20000) .. string.rep("}", 20000)) == nil
