-- returns: chance is the same for everybody
math.randomseed()
local a = math.random(1000000)
math.randomseed()
return a == math.random(1000000)
