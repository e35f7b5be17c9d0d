-- SPDX-License-Identifier: Apache-2.0
-- status.observedGeneration moves on success only, so that errors come before it. ReconcileSuccess=False is an error;
-- AllReplicasReady=False is waited for; ClusterAvailable=False (nobody can connect) is an error when it lasts for
-- more than 10 minutes. NoWarnings is only shown.
local t = require("truce")

local reconciled, available = t.condition(obj, "ReconcileSuccess"), t.condition(obj, "ClusterAvailable")
if reconciled and reconciled.status == "False" then
  return t.degraded(t.says(reconciled))
end
local late = t.unobserved(obj)
if late then
  return late
end
if available and available.status == "False" then
  return t.patience(available.lastTransitionTime, 600, t.says(available))
end
local warned = t.is(obj, "NoWarnings", "False") and "warning: " .. t.says(t.condition(obj, "NoWarnings")) or nil
return t.deciding(obj, "AllReplicasReady", { healthy = warned })
