-- SPDX-License-Identifier: Apache-2.0
-- Istio, IstioRevision, IstioCNI, ZTunnel: Reconciled=False is an error; Ready=False is the way up, and an error when
-- it lasts for more than 10 minutes. An IstioRevisionTag has no Ready.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local reconciled, ready = t.condition(obj, "Reconciled"), t.condition(obj, "Ready")
if reconciled and reconciled.status == "False" then
  return t.degraded(t.says(reconciled))
end
if obj.kind == "IstioRevisionTag" then
  return t.deciding(obj, "Reconciled")
end
if ready and ready.status == "False" then
  return t.patience(ready.lastTransitionTime, 600, t.says(ready))
end
return t.deciding(obj, "Ready")
