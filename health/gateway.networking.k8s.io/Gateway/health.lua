-- SPDX-License-Identifier: Apache-2.0
-- Accepted and Programmed decide, of each listener (with Conflicted and ResolvedRefs; what they say is nearer to the
-- cause) and of the gateway. A listener that no route uses is fine. A condition of an older generation is Unknown.
local t = require("truce")

local generation = t.get(obj, "metadata", "generation")
local by_and_by = { "Pending", "AddressNotAssigned" }
local worst

local function note(result)
  if not worst or (result.status == "Degraded" and worst.status ~= "Degraded") then
    worst = result
  end
end

local function read(list, kind, good, where)
  local condition = t.condition_in(list, kind, generation)
  if not condition or condition.status == good then
    return
  end
  local wrong = condition.status ~= "Unknown" and not t.contains(by_and_by, condition.reason)
  note((wrong and t.degraded or t.progressing)(where .. t.says(condition)))
end

local status = t.status(obj)
local known = {}
for _, listener in ipairs(t.table(status.listeners)) do
  local name = t.text(t.get(listener, "name"), "?")
  local conditions, where = t.get(listener, "conditions"), "listener " .. name .. ": "
  known[name] = true
  read(conditions, "Conflicted", "False", where)
  read(conditions, "Accepted", "True", where)
  read(conditions, "ResolvedRefs", "True", where)
  read(conditions, "Programmed", "True", where)
end
for _, kind in ipairs({ "Accepted", "Programmed" }) do
  read(status.conditions, kind, "True", "")
  if not t.condition(obj, kind) then
    note(t.progressing("waiting for condition " .. kind))
  end
end
for _, listener in ipairs(t.table(t.get(obj, "spec", "listeners"))) do
  local name = t.text(t.get(listener, "name"), "?")
  if not known[name] then
    note(t.progressing("listener " .. name .. ": waiting for its status"))
  end
end
return worst or t.healthy()
