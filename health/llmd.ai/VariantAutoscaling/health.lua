-- SPDX-License-Identifier: Apache-2.0
-- Decided by TargetResolved, ScalingBackendReady, OptimizationReady and MetricsAvailable. Without metrics scaling
-- stands still and the workload goes on. Facts: llmd.ai/v1alpha1; generations only in conditions.
local t = require("truce")

for _, kind in ipairs({ "TargetResolved", "ScalingBackendReady" }) do
  if t.is(obj, kind, "False") then
    return t.degraded(t.named(t.condition(obj, kind)))
  end
end
local wanted = t.number(t.get(t.status(obj), "desiredOptimizedAlloc", "numReplicas"))
local answer = t.deciding(obj, "OptimizationReady", {
  degraded = { "InvalidConfiguration", "OptimizationFailed" },
  healthy = wanted and string.format("%s replicas are wanted", wanted),
})
if answer.status ~= "Degraded" and t.is(obj, "MetricsAvailable", "False") then
  return t.progressing("scaling stands still, the workload does not: " .. t.says(t.condition(obj, "MetricsAvailable")))
end
return answer
