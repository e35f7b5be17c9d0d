-- timeout: what was captured is looked for again
return string.find(string.rep("a", 100000), "(a*)b%1c")
