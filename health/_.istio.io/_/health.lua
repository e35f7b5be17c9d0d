-- SPDX-License-Identifier: Apache-2.0
-- Most have no status: the control plane writes one only when it is told to, or when a proxy refuses the resource.
-- Accepted (Waypoint and Ztunnel, too) and the analyser's messages of level ERROR are errors.
local t = require("truce")

local status = t.status(obj)
if status.conditions == nil and status.validationMessages == nil then
  return nil
end
if status.observedGeneration ~= nil and t.stale(obj) then
  return t.unobserved(obj)
end
local errors = {}
for _, message in ipairs(t.table(status.validationMessages)) do
  if t.get(message, "level") == "ERROR" then
    local code, name = t.get(message, "type", "code"), t.get(message, "type", "name")
    errors[#errors + 1] = string.format("%s %s", code or "?", name or "")
  end
end
if #errors > 0 then
  return t.degraded("analysis found " .. table.concat(errors, ", "))
end
for _, kind in ipairs({ "Accepted", "ZtunnelAccepted", "WaypointAccepted" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "False" then
    return t.degraded(t.says(condition))
  end
end
local reconciled = t.condition(obj, "Reconciled")
if reconciled and reconciled.status ~= "True" then
  return t.progressing(t.says(reconciled))
end
return t.healthy()
