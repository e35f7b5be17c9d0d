-- timeout: nothing but garbage
while true do local t = {} for i = 1, 100 do t[i] = {} end end
