-- timeout: a loop that counts to infinity
for i = 1, math.huge do end
