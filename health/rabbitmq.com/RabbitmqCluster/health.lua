-- SPDX-License-Identifier: Apache-2.0
-- ReconcileSuccess=False is an error; AllReplicasReady=False is waited for; ClusterAvailable=False (nobody can connect) is
-- an error when it lasts for more than 10 minutes. NoWarnings is only shown.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local reconciled, available, warned = t.condition(obj, "ReconcileSuccess"), t.condition(obj, "ClusterAvailable"), t.condition(obj, "NoWarnings")
if reconciled and reconciled.status == "False" then
  return t.degraded(t.says(reconciled))
end
if available and available.status == "False" then
  return t.patience(available.lastTransitionTime, 600, t.says(available))
end
return t.deciding(obj, "AllReplicasReady", { healthy = warned and warned.status == "False" and "warning: " .. t.says(warned) or nil })
