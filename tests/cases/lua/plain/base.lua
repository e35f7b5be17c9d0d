-- Base functions and what the language does without them.
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

note(tostring(nil), tostring(true), tostring(1), tostring(1.0), tostring(-0.0), tostring(1e15), tostring(2 ^ 53), tostring("x"))
note(pcall(tostring))
note(pcall(setmetatable, 1, {}))
note(pcall(setmetatable, {}))
note(pcall(setmetatable, {}, 1))
note(pcall(tostring, setmetatable({}, {__tostring = function() return {} end})))
note(tonumber("0x10"), tonumber("10", 2), tonumber(" 5 "), tonumber("5x"), tonumber("1e1"), tonumber(""), tonumber("z", 36))
note("10" + 1, "3" * "4", 10 .. 20, 7 // 2, 7.0 // 2, -7 % 3, 2 ^ 10, 7 / 2, 1 << 4, ~0, "0x10" + 0)
note(select("#"), select("#", nil, nil), select(2, "a", "b", "c"), select(-1, "a", "b"))
note(rawequal("a", "a"), rawlen({1, 2}), rawlen("abc"), rawget({a = 1}, "a"), rawset({}, "a", 2).a, next({}), type(next))
note(pcall(error, "x", 0))
note(pcall(error))
note(type(select(2, pcall(error, {}, 2))))
note(select("#", pcall(error)))
note(xpcall(function() error("deep", 0) end, function(m) return "handled " .. m end))
note(xpcall(function(...) return ... end, error, 1, 2))
note(pcall(function() local x <close> = setmetatable({}, {__close = function() error("closing", 0) end}) end))
note(assert(1, 2, 3))
note(pcall(assert, false, "why"))
note(pcall(assert, nil))
note(pcall(assert))
note(load("return ...", "name", "t")(1, 2))
note(load("syntax error here"))
note(load(1, nil, "t"))
note(type(load(function() return nil end)), pcall(load(function() return nil end)))
note(load("x = 1; return x", "n", "t", {})())
note(math.type(1), math.type(1.0), math.type("1"), math.max(1, 2.5), math.floor(-1.5), math.huge, math.ult(1, -1), math.tointeger(3.0))
note(utf8.char(228, 8364), utf8.len("äö"), utf8.codepoint("ä", 1), utf8.offset("äö", 2), utf8.len("\xff"))
for p, c in utf8.codes("aä") do
  note(p, c)
end
for c in string.gmatch("aä€", utf8.charpattern) do
  note(c)
end
for i, v in ipairs(setmetatable({1}, {__index = function(_, k) return k < 4 and k * 10 or nil end})) do
  note(i, v)
end
for k, v in pairs(setmetatable({}, {__pairs = function(t) return function(_, i) if not i then return 1, "one" end end, t, nil end})) do
  note(k, v)
end
goto over
note("skipped")
::over::
note(#"abc", #{1, 2, 3}, ("a"):byte(), string.char(97, 98), ("abc"):upper(), ("ABC"):lower(), ("abc"):reverse(), ("abc"):sub(-2))
note(pcall(function() return nil .. "x" end))
note(pcall(function() return {} < {} end))
note(pcall(function() return #5 end))
note(pcall(function() local t t.x = 1 end))
note(pcall(function() undefined() end))
note(pcall(string.rep))
return table.concat(out, "\n")
