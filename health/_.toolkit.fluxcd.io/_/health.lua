-- SPDX-License-Identifier: Apache-2.0
-- Decided by spec.suspend, Stalled, Ready and Reconciling. Facts: the conditions that all of Flux's controllers keep.
-- They move status.observedGeneration only when they succeed, so what a condition says of its own generation counts
-- first. Alert, Provider and a HelmRepository of type oci are only read by others and publish no condition.
local t = require("truce")

local WAITING = { "DependencyNotReady", "SourceNotReady" }
local STATIC = { "Alert", "Provider" }

if t.get(obj, "spec", "suspend") == true then
  return t.suspended("spec.suspend is true")
end
if t.is(obj, "Stalled") then
  return t.degraded_for_good(t.says(t.condition(obj, "Stalled")))
end
local ready = t.condition(obj, "Ready")
local static = t.contains(STATIC, t.get(obj, "kind"))
  or t.get(obj, "kind") == "HelmRepository" and t.get(obj, "spec", "type") == "oci"
if not ready and static then
  return t.healthy()
end
if not ready then
  return t.progressing("waiting for condition Ready")
end
local reconciling = t.condition(obj, "Reconciling")
if ready.status == "True" and reconciling and reconciling.status == "True" then
  return t.progressing(t.says(reconciling))
end
return t.deciding(obj, "Ready", {
  on_false = "Degraded",
  progressing = WAITING,
  observed = ready.observedGeneration == nil and t.status(obj).observedGeneration ~= nil,
})
