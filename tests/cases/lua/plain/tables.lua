-- table and what belongs to it.
local out = {}
local function text(...)
  local parts = table.pack(...)
  for i = 1, parts.n do
    parts[i] = type(parts[i]) == "table" and "{" .. text(table.unpack(parts[i], 1, 9)) .. "}" or
      string.gsub(tostring(parts[i]), "^[^:]*:%d+: ", "")
  end
  return table.concat(parts, ",", 1, parts.n)
end
local function note(...)
  out[#out + 1] = select(2, pcall(text, ...))
end

local function with(f, list, ...)
  note(list, pcall(f, list, ...))
  note(list)
end
with(table.insert, {1, 2, 3}, 4)
with(table.insert, {1, 2, 3}, 1, 0)
with(table.insert, {1, 2, 3}, 4, 4)
with(table.insert, {1, 2, 3}, 5, 5)
with(table.insert, {1, 2, 3}, 0, 5)
with(table.insert, {}, 1, 1)
with(table.insert, {1}, 1, 2, 3)
with(table.insert, {1})
with(table.remove, {1, 2, 3})
with(table.remove, {1, 2, 3}, 1)
with(table.remove, {1, 2, 3}, 3)
with(table.remove, {1, 2, 3}, 4)
note((pcall(table.remove, {1, 2, 3}, 5)))
with(table.remove, {})
with(table.remove, {}, 0)
with(table.remove, {}, 1)
with(table.move, {1, 2, 3, 4}, 2, 4, 1)
with(table.move, {1, 2, 3, 4}, 1, 3, 2)
with(table.move, {1, 2, 3, 4}, 1, 4, 3, {9, 9})
for _, at in ipairs {1, 2, 3, 4, 5} do
  local t = {1, 2, 3, 4, 5}
  table.move(t, 2, 4, at, t)
  note(t)
end
with(table.move, {1, 2}, 2, 1, 1)
with(table.move, {1, 2}, math.mininteger, 2, 1)
with(table.move, {1, 2}, 1, 2, math.maxinteger)
with(table.concat, {1, "b", 2.5})
with(table.concat, {1, "b", 2.5}, ", ")
with(table.concat, {1, "b", 2.5}, ", ", 2)
with(table.concat, {1, "b", 2.5}, ", ", 2, 2)
with(table.concat, {1, "b", 2.5}, ", ", 3, 2)
with(table.concat, {1, "b", 2.5}, ", ", 1, 4)
with(table.concat, {1, {}, 2}, ", ")
with(table.concat, {}, "x")
with(table.unpack, {1, 2, 3})
with(table.unpack, {1, 2, 3}, 2)
with(table.unpack, {1, 2, 3}, 2, 5)
with(table.unpack, {1, 2, 3}, 3, 1)
with(table.unpack, {}, math.mininteger, math.maxinteger)
note(table.pack(), table.pack(1, nil, 3).n, table.pack(1, nil, 3)[3])
note(pcall(table.concat, nil))
note(pcall(table.insert))
note(pcall(table.sort, {2, 1}, 1))
note(pcall(table.sort, {1, "a"}))
note(pcall(table.sort, {{}, {}}))

local seed = 99
local function draw(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end
for n = 0, 40 do
  local list, words = {}, {}
  for i = 1, n do
    list[i], words[i] = draw(1000) * 1000 + i, tostring(draw(50)) .. "/" .. i
  end
  table.sort(list)
  table.sort(words)
  out[#out + 1] = table.concat(list, ",") .. ";" .. table.concat(words, ",")
  table.sort(list, function(a, b) return a > b end)
  out[#out + 1] = table.concat(list, ",")
end
return table.concat(out, "\n")
