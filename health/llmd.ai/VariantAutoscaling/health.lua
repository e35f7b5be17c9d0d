-- SPDX-License-Identifier: Apache-2.0
-- Decided by TargetResolved, OptimizationReady and MetricsAvailable. Without metrics scaling stands still and the
-- workload goes on. Facts: llmd.ai/v1alpha1; generations only in conditions.
local t = require("truce")

local target = t.condition(obj, "TargetResolved")
if target and target.status == "False" then
  return t.degraded(t.named(target))
end
local metrics = t.condition(obj, "MetricsAvailable")
if metrics and metrics.status == "False" then
  return t.progressing("scaling stands still, the workload does not: " .. t.says(metrics))
end
local status = t.status(obj)
local wanted = t.number(t.get(status, "desiredOptimizedAlloc", "numReplicas"))
return t.deciding(obj, "OptimizationReady", {
  degraded = { "InvalidConfiguration", "OptimizationFailed" },
  healthy = wanted and string.format("%s replicas are wanted", wanted),
})
