-- returns: a name of sixty thousand letters
return load("return " .. string.rep("x", 60000))() == nil
