-- Errors of patterns, plain finding, rep, and places from the end.
local out = {}
local function text(...)
  local parts = table.pack(...)
  for i = 1, parts.n do
    parts[i] = string.gsub(tostring(parts[i]), "^[^:]*:%d+: ", "")
  end
  return table.concat(parts, ",", 1, parts.n)
end
local function note(...)
  out[#out + 1] = text(...)
end

for _, p in ipairs {"%", "[a", "[", "[^", "[%", "a[", "%b", "%ba", "%f", "%fa", "(a", "a)", "(()", "%1", "(a%1", "%0", "(a)%2",
  string.rep("()", 33), string.rep("a?", 201), "[a-", "[]", "[^]", "[]-a]", "%f[%w"} do
  note("find", p, pcall(string.find, "aaa", p))
end
for _, r in ipairs {"%", "%9", "%2", "%x", "%%", "%1", "%0%1", "a\0b"} do
  note("gsub", r, pcall(string.gsub, "abc", "(b)", r))
end
note(pcall(string.gsub, "abc", "b", function() return {} end))
note(pcall(string.gsub, "abc", "b", true))
note(pcall(string.gsub, "abc", "b"))
note(string.gsub("hello world", "o", "0", 1), string.gsub("abc", "", "-"), string.gsub("abc", "b*", "-"))
note(string.gsub("abc", "%w", "%0%0", -1), string.gsub("abc", "^", "x"), string.gsub("", "^", "x"))
for i = -5, 5 do
  note(i, string.find("abc", "b", i), string.find("abc", "b", i, true), string.find("abc", "", i), string.match("abc", "()", i))
end
note(string.find("a.b", ".", 1, true), string.find("a\0b", "\0"), string.find("a\0b", "%z"), string.find("abc", "c", 10))
note(string.rep("ab", 3), string.rep("ab", 3, ", "), string.rep("ab", 0), string.rep("ab", -1), string.rep("", 10, ";"))
note(string.rep("ab", 1, "x"), #string.rep("abc", 1000, "de"))
for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do
  note(k, v)
end
for w in string.gmatch("^a^a", "^a") do
  note(w)
end
for w in string.gmatch("abc", "%w", -1) do
  note(w)
end
note(("x"):rep(3), ("%d"):format(7), ("abc"):find("b"))
return (string.gsub(table.concat(out, "\n"), "[^\n -~]", function(c) return "\\" .. string.byte(c) end))
