-- SPDX-License-Identifier: Apache-2.0
-- Decided by ConfigValid and the phase; a Degraded phase with instances left is on its way. Facts:
-- lmcache.lmcache.ai/v1alpha1.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local ready, want = t.number(status.readyInstances, 0), t.number(status.desiredInstances, 0)
local counts = string.format("%s of %s caches ready", ready, want)
if t.is(obj, "ConfigValid", "False") then
  return t.degraded_for_good(t.named(t.condition(obj, "ConfigValid")))
end
local available = t.condition(obj, "Available")
if status.phase == "Failed" then
  return t.degraded(available and available.status == "False" and t.named(available) or "phase is Failed: " .. counts)
end
if status.phase == "Degraded" and available and available.status == "False" then
  return t.degraded(t.named(available) .. " (" .. counts .. ")")
end
if status.phase ~= "Running" or ready < want then
  return t.progressing(counts)
end
if want == 0 then
  return t.healthy("no node is selected")
end
return t.healthy()
