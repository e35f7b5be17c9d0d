-- limit: a table made large at once
return #table.pack(table.unpack({}, 1, 9999)) + #load("return {" .. string.rep("{1,2,3,4,5,6,7,8},", 3000) .. "}")() + #string.rep("x", 4000000) .. string.rep("y", 4000000)
