-- timeout: the plainest loop
while true do end
