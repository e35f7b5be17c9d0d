-- SPDX-License-Identifier: Apache-2.0
-- A connector's tasks can fail while the resource is Ready: what Kafka Connect says of them is read, too.
local t = require("truce")

local function judge(name, told)
  local state = t.text(t.get(told, "connector", "state"), "UNASSIGNED")
  if state == "FAILED" then
    return t.degraded(name .. " failed: " .. t.text(t.get(told, "connector", "trace"), "no trace given"))
  end
  for _, task in ipairs(t.table(t.get(told, "tasks"))) do
    if t.get(task, "state") == "FAILED" then
      local trace = t.text(t.get(task, "trace"), "no trace given"):match("^[^\n]*")
      return t.degraded(string.format("task %s of %s failed: %s", t.get(task, "id") or "?", name, trace))
    end
  end
  if state == "PAUSED" or state == "STOPPED" then
    return t.suspended(name .. " is " .. state:lower())
  end
  if state ~= "RUNNING" then
    return t.progressing(name .. " is " .. state:lower())
  end
  return nil
end

if t.is(obj, "ReconciliationPaused") then
  return t.suspended("reconciliation is paused by annotation")
end
local late = t.unobserved(obj)
if late then
  return late
end
if t.is(obj, "NotReady") then
  return t.degraded(t.says(t.condition(obj, "NotReady")))
end
local order, worst = { Degraded = 3, Progressing = 2, Suspended = 1 }, nil
for _, connector in ipairs(t.table(t.status(obj).connectors)) do
  local found = judge(t.text(t.get(connector, "name"), "connector"), connector)
  if found and (not worst or order[found.status] > order[worst.status]) then
    worst = found
  end
end
if worst then
  return worst
end
return t.deciding(obj, "Ready", { on_false = "Degraded" })
