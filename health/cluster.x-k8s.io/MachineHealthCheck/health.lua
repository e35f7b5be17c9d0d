-- SPDX-License-Identifier: Apache-2.0
-- RemediationAllowed=False: so many machines are unhealthy that none is repaired any more.
local t = require("truce")

local status = t.status(obj)
local modern = t.get(status, "v1beta2", "conditions") or status.conditions
local allowed = t.condition_in(modern, "RemediationAllowed", t.get(obj, "metadata", "generation"))
if allowed and allowed.status == "False" then
  return t.degraded(t.says(allowed))
end
local late = t.unobserved(obj)
if late then
  return late
end
local unhealthy = t.number(status.expectedMachines, 0) - t.number(status.currentHealthy, 0)
if unhealthy > 0 then
  return t.healthy(string.format("%s of %s machines unhealthy", unhealthy, status.expectedMachines))
end
return t.healthy()
