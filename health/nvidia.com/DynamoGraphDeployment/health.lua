-- SPDX-License-Identifier: Apache-2.0
-- Decided by state, the phases of a rolling update and of a restart, Ready, and the counters of every component: the
-- state alone is successful too early. Facts: nvidia.com/v1beta1 and v1alpha1 (there the counters are in services).
local t = require("truce")

-- What is behind in the components, by name; updated counters drift and are left alone.
local function behind(status)
  local components = t.table(status.components or status.services)
  for _, name in ipairs(t.keys(components)) do
    local c = components[name]
    local short = t.replicas(t.get(c, "readyReplicas") or t.get(c, "availableReplicas"), t.get(c, "replicas"), "ready")
    if short then
      return string.format("component %s: %s", name, short)
    end
  end
  return nil
end

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local ready = t.condition(obj, "Ready")
local says = ready and ready.status ~= "True" and t.says(ready)

if t.get(status, "rollingUpdate", "phase") == "Failed" then
  return t.degraded_for_good("rolling update failed" .. (says and ": " .. says or ""))
end
if t.get(status, "restart", "phase") == "Failed" then
  return t.degraded_for_good("restart failed" .. (says and ": " .. says or ""))
end
if status.state == "failed" then
  return t.degraded(says or behind(status) or "state is failed")
end
local phase = t.get(status, "restart", "phase")
if phase == "Restarting" or phase == "Pending" then
  return t.progressing("restarting " .. table.concat(t.table(t.get(status, "restart", "inProgress")), ", "))
end
phase = t.get(status, "rollingUpdate", "phase")
if phase == "InProgress" or phase == "Pending" then
  return t.progressing("rolling update: " .. (behind(status) or says or phase))
end
if says and ready.reason == "insufficient_capacity" then
  return t.progressing("no capacity: " .. (t.text(ready.message) or "pods cannot be scheduled"))
end
if says then
  return t.progressing(says)
end
if not ready or status.state ~= "successful" then
  return t.progressing(string.format("state is %s", t.text(status.state, "not set")))
end
local short = behind(status)
if short then
  return t.progressing(short)
end
return t.healthy()
