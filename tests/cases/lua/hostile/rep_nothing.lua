-- returns: nothing, very often
return string.rep("", math.maxinteger) == "" and string.rep("", 1000000000, "") == ""
