-- error or limit: four million results
return select("#", string.byte(string.rep("x", 4000000), 1, -1))
