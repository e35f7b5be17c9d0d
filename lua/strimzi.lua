-- SPDX-License-Identifier: Apache-2.0
-- Strimzi: what several kinds of the operator have in common.
local t = require("truce")
local strimzi = {}

-- What comes before anything else: a pause, or a generation that is not observed yet. nil: neither.
function strimzi.early(obj)
  if t.is(obj, "ReconciliationPaused") then
    return t.suspended("reconciliation is paused by annotation")
  end
  return t.unobserved(obj)
end

-- What Kafka Connect says of a connector and its tasks, which can fail while the resource is Ready. nil: they run.
function strimzi.connector(name, told)
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

return strimzi
