-- limit or timeout: blocks of each size in turn, so that none fits into what another one left
for size = 1, 60 do
  local t = {}
  for i = 1, 100000 do t[i] = string.rep("x", size * 8) .. i end
end
while true do end
