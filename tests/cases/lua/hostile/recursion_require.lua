-- error: a module that is none
-- says: there is no module
return require(string.rep("x", 1000000))
