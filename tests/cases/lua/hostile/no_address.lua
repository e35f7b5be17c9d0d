-- returns: no address anywhere
local seen = {tostring({}), tostring(print), tostring(coroutine.create(print)), tostring(string.gmatch("", "")),
  string.format("%s %s", {}, print), tostring(setmetatable({}, {__name = "x"}))}
for _, text in ipairs(seen) do
  if string.find(text, "0x", 1, true) or string.find(text, "%d") then return text end
end
local ok, why = pcall(function() return {} .. "x" end)
return not string.find(why, "0x", 1, true)
