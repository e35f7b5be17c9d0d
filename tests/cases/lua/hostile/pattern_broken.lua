-- returns: patterns that end in their middle
for _, p in ipairs {"%", "[", "[%", "[^", "[a-", "%b", "%bx", "%f", "(", "(()", ")", "%1", "[]", "[^]"} do
  if pcall(string.match, "a", p) then return p end
end
return true
