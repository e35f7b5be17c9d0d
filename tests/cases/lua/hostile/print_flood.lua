-- returns: a hundred thousand lines
for i = 1, 100000 do print(i, {}, nil) end
return true
