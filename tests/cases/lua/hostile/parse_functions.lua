-- returns: the same with functions
return load(string.rep("return function() ", 2500) .. string.rep(" end", 2500)) == nil
