-- returns: who changes a library changes his own
string.find = nil string.format = error table.insert = nil math.floor = nil
pairs = nil _G.tostring = nil _G._G = nil
return true
