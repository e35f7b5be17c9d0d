-- SPDX-License-Identifier: Apache-2.0
-- Decided by the live records: one a peer, under its identity, renewed within its lifetime. Two peers of the same top
-- priority pause each other, so nobody works. Facts: kopf.dev/v1.
local t = require("truce")

-- Seconds until a record is dead; nil when it has no time that can be read.
local function left(record)
  local age = t.age(t.get(record, "lastseen"))
  return age and t.number(t.get(record, "lifetime"), 60) - age
end

local top, names, soonest, count = nil, {}, nil, 0
local status = t.status(obj)
for _, name in ipairs(t.keys(status)) do
  local rest = left(status[name])
  if rest and rest > 0 then
    local priority = t.number(t.get(status[name], "priority"), 0)
    count = count + 1
    soonest = math.min(soonest or rest, rest)
    if not top or priority > top then
      top, names = priority, { name }
    elseif priority == top then
      names[#names + 1] = name
    end
  end
end
if count == 0 then
  return t.progressing("no peer is alive")
end
if #names > 1 then
  return t.again(t.degraded(string.format("%s share priority %s: each waits for the other, nobody works",
    table.concat(names, ", "), top)), soonest)
end
return t.again(t.healthy(string.format("%s works (priority %s), %s more wait", names[1], top, count - 1)), soonest)
