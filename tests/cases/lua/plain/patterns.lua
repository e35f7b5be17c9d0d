-- Drawn patterns on drawn subjects: find, match, gmatch and gsub do what Lua's own do.
local seed = 12345
local function draw(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end
local function one_of(list)
  return list[draw(#list)]
end

local singles = {"a", "b", "c", ".", "%a", "%d", "%s", "%w", "%A", "%D", "%S", "%W", "%p", "%x", "%u", "%l", "%c", "%g",
  "[ab]", "[^ab]", "[a-c]", "[%d_]", "[^%s]", "[]]", "[^]]", "[a-]", "[%a-z]", "[%]]", "[-a]", "-", "%-", "%.", "%%", "$",
  "^", "]", "%z"}
local repeats = {"", "", "", "", "*", "+", "-", "?"}
local others = {"%b()", "%bab", "%f[%w]", "%f[^%w]", "%f[%z]", "()"}

local function pattern()
  local parts, open, closed, count = {}, {}, {}, 0
  if draw(6) == 1 then
    parts[1] = "^"
  end
  for _ = 1, draw(6) do
    local way = draw(14)
    if way == 1 and count < 4 then
      count = count + 1
      open[#open + 1] = count
      parts[#parts + 1] = "("
    elseif way == 2 and #open > 0 then
      closed[#closed + 1] = table.remove(open)
      parts[#parts + 1] = ")"
    elseif way == 3 and #closed > 0 then
      parts[#parts + 1] = "%" .. one_of(closed)
    elseif way == 4 then
      local other = one_of(others)
      if other == "()" then
        count = count + 1
        closed[#closed + 1] = count
      end
      parts[#parts + 1] = other
    else
      parts[#parts + 1] = one_of(singles) .. one_of(repeats)
    end
  end
  for _ = 1, #open do
    parts[#parts + 1] = ")"
  end
  if draw(5) == 1 then
    parts[#parts + 1] = "$"
  end
  return table.concat(parts)
end

local letters = {"a", "b", "c", "a", "b", "1", "_", " ", "(", ")", "-", "]", "\0", "Z", ".", "%", "\n", "\200"}
local function subject()
  local parts = {}
  for i = 1, draw(13) - 1 do
    parts[i] = one_of(letters)
  end
  return table.concat(parts)
end

local function text(...)
  local parts = table.pack(...)
  for i = 1, parts.n do
    parts[i] = tostring(parts[i])
  end
  return table.concat(parts, ",", 1, parts.n)
end

local out = {}
local function note(...)
  out[#out + 1] = text(...)
end

for _ = 1, 3000 do
  local p, s, init = pattern(), subject(), draw(9) - 5
  note("find", p, s, init, pcall(string.find, s, p, init))
  note("match", p, s, pcall(string.match, s, p, init))
  note("gsub", p, s, pcall(string.gsub, s, p, "<%0>", draw(4)))
  note("gsub", p, s, pcall(string.gsub, s, p, function(...) return #text(...) > 2 and text(...) end))
  note("gsub", p, s, pcall(string.gsub, s, p, {a = "A", ab = 1, [1] = "one", b = false}))
  note("gsub", p, s, pcall(string.gsub, s, p, "%1"))
  pcall(function()
    local n = 0
    for a, b in string.gmatch(s, p) do
      n = n + 1
      note("gmatch", a, b)
    end
    note("gmatch", n)
  end)
end
return (string.gsub(table.concat(out, "\n"), "[^\n -~]", function(c) return "\\" .. string.byte(c) end))
