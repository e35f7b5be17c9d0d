-- returns: an environment that is a constant
local f = load("local _ENV <const> = {} x = 1 return function() y = x return y end")
local g = load("local _ENV <const> = 1 x = 2 return x")
return f()() == 1 and not pcall(g)
