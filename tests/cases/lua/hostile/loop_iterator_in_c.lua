-- timeout: a generic for whose iterator is written in C and never ends
for _ in collectgarbage do end
