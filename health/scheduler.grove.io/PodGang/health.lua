-- SPDX-License-Identifier: Apache-2.0
-- Decided by Unhealthy, DisruptionTarget, Ready and the phase. Facts: scheduler.grove.io/v1alpha1.
local t = require("truce")

if t.is(obj, "Unhealthy") then
  return t.degraded(t.says(t.condition(obj, "Unhealthy")))
end
if t.is(obj, "DisruptionTarget") then
  return t.progressing("about to be disrupted: " .. t.says(t.condition(obj, "DisruptionTarget")))
end
local phase = t.text(t.status(obj).phase, "Pending")
local ready = t.condition(obj, "Ready")
if phase == "Running" and (not ready or ready.status == "True") then
  return t.healthy()
end
local scheduled = t.condition(obj, "Scheduled")
if scheduled and scheduled.status ~= "True" then
  return t.progressing(t.named(scheduled))
end
if ready and ready.status ~= "True" then
  return t.progressing(t.named(ready))
end
return t.progressing("phase is " .. phase)
