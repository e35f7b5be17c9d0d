-- returns: the same with blocks
return load(string.rep("do ", 9000) .. string.rep(" end", 9000)) == nil
