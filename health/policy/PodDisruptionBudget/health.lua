-- SPDX-License-Identifier: Apache-2.0
-- SyncFailed is an error (the pods have no controller that can be scaled, or several budgets); then the pods that are
-- healthy against those that must be. A budget that allows no disruption now does what it should.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local allowed = t.condition(obj, "DisruptionAllowed")
if allowed and allowed.status == "False" and allowed.reason == "SyncFailed" then
  return t.degraded(t.says(allowed))
end
local short = t.replicas(status.currentHealthy, status.desiredHealthy, "pods healthy")
if short then
  return t.progressing(short)
end
if t.number(status.expectedPods, 0) == 0 then
  return t.healthy("no pod matches")
end
if t.number(status.disruptionsAllowed, 0) == 0 then
  return t.healthy("no pod may be evicted now")
end
return t.healthy()
