-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides, once status.observedGeneration has caught up; readyCount ("1/2") counts the clusters it
-- configures.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local phase, count = t.text(status.phase, "waiting for the operator"), t.text(status.readyCount)
local says = count and phase .. ", ready: " .. count or phase
if phase == "Ready" then
  return t.healthy()
end
if t.contains({ "Invalid", "Conflict", "Error" }, phase) then
  return t.degraded(says)
end
return t.progressing(says)
