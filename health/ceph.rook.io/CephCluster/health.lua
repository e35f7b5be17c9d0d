-- SPDX-License-Identifier: Apache-2.0
-- status.phase says what the operator does, status.ceph what Ceph says of itself: HEALTH_WARN and HEALTH_ERR name
-- their checks. status.observedGeneration moves on success only, so that a failure comes before it.
local t = require("truce")

local status = t.status(obj)
local phase, message = t.text(status.phase, "waiting for the operator"), t.text(status.message)
local health = t.text(t.get(status, "ceph", "health"))
local checks = {}
for _, name in ipairs(t.keys(t.get(status, "ceph", "details"))) do
  local detail = t.get(status, "ceph", "details", name)
  checks[#checks + 1] = name .. " (" .. t.text(t.get(detail, "message"), "no message") .. ")"
end

if phase == "Failure" then
  return t.degraded(message or phase)
end
if phase ~= "Ready" and phase ~= "Connected" then
  return t.progressing(message or phase)
end
if health == "HEALTH_WARN" or health == "HEALTH_ERR" then
  return t.degraded(health .. (#checks > 0 and ": " .. table.concat(checks, ", ") or ""))
end
if health ~= "HEALTH_OK" then
  return t.progressing("waiting for Ceph's health")
end
local late = t.unobserved(obj)
if late then
  return late
end
return t.healthy()
