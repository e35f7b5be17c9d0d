-- limit: what is returned is long
return {status = string.rep("x", 3000000)}
