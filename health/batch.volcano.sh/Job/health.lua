-- SPDX-License-Identifier: Apache-2.0
-- Decided by state.phase. Facts: batch.volcano.sh/v1alpha1; no generation is published.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(t.get(status, "state", "phase"), "Pending")
local why = t.text(t.get(status, "state", "message")) or t.text(t.get(status, "state", "reason"))
if phase == "Failed" or phase == "Terminated" then
  return t.degraded_for_good(why and phase .. ": " .. why or phase)
end
if phase == "Aborted" then
  return t.suspended(why or "aborted")
end
if phase == "Running" or phase == "Completed" then
  return t.healthy()
end
return t.progressing(string.format("%s: %s of %s pods run%s", phase, t.number(status.running, 0),
  t.number(t.get(obj, "spec", "minAvailable"), 0), why and ", " .. why or ""))
