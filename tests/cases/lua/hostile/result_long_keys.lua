-- limit: and so are its keys
return {[string.rep("x", 3000000)] = 1}
