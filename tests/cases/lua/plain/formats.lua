-- string.format, where Lua's own takes it.
local out = {}
local function note(...)
  out[#out + 1] = tostring((select(2, pcall(string.format, ...))))
end

local numbers = {0, 1, -1, 42, 255, math.maxinteger, math.mininteger, 3.0, -7.0, "12"}
for _, f in ipairs {"%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%8.3d", "%i", "%x", "%X", "%#x", "%o", "%#o", "%08x", "%99d"} do
  for _, n in ipairs(numbers) do
    note(f, n)
  end
end
for _, f in ipairs {"%f", "%.0f", "%.3f", "%10.2f", "%-10.2f|", "%+.1f", "%e", "%.2E", "%g", "%G", "%#.3g", "%a", "%A", "%.99f"} do
  for _, n in ipairs {0, 1, -1.5, 1e100, 1e308, 1 / 3, 1 / 0, -1 / 0, "0x10", 123456789} do
    note(f, n)
  end
end
for _, f in ipairs {"%s", "%5s|", "%-5s|", "%.2s|", "%10.3s|", "%-10.3s|", "%.0s|", "%.s|"} do
  for _, v in ipairs {"", "a", "abcdef", 1, 1.5, true} do
    note(f, v)
  end
end
for _, v in ipairs {"", 'a"b\\c\nd\re\0f\0001\t', 5, 1.5, -0.25, 1 / 0, -1 / 0, true, false, "\127\200"} do
  note("%q", v)
end
note("%q", nil)
note("%c%c%c", 76, 117, 97)
note("%5c|%-5c|", 65, 66)
note("100%%")
note("%s %s", 1, 2, 3)
note("%s", setmetatable({}, {__tostring = function() return "mine" end}))
note("no conversion")
note("a\0b%s", "c\0d")
return (string.gsub(table.concat(out, "\n"), "[^\n -~]", function(c) return "\\" .. string.byte(c) end))
