-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides (controllers since 1.0), once the controller has seen this generation: it publishes that as
-- text, and that of a workloadRef's Deployment beside it. A pause, by a step or by hand, is Suspended.
local t = require("truce")

local status = t.status(obj)
local invalid = t.condition(obj, "InvalidSpec")
if invalid and invalid.status == "True" then
  return t.degraded_for_good(t.says(invalid))
end

-- Controllers before 0.10 kept a hash there: what is no number, or too large for one, is not a generation.
local observed, generation = t.number(status.observedGeneration), t.number(t.get(obj, "metadata", "generation"))
if observed and generation and observed < generation then
  return t.progressing(string.format("waiting for its controller: generation %s is observed, %s is awaited", observed,
    generation))
end
local workload = t.annotation(obj, "rollout.argoproj.io/workload-generation")
local workload_observed = t.text(status.workloadObservedGeneration)
if workload and workload_observed and workload ~= workload_observed then
  return t.progressing("waiting for its controller to see the change of the referenced workload")
end
if status.controllerPause == true and #t.table(status.pauseConditions) == 0 then
  return t.progressing("waiting for the rollout to go on after the pause")
end

local phase = t.text(status.phase, "not started")
local message = t.text(status.message)
local step, steps = t.number(status.currentStepIndex), t.get(obj, "spec", "strategy", "canary", "steps")
local detail = message or phase
if step and type(steps) == "table" and step < #steps then
  detail = string.format("%s (step %s of %s)", detail, step + 1, #steps)
end
if phase == "Healthy" then
  return t.healthy(message)
end
if phase == "Paused" then
  return t.suspended(detail)
end
if phase == "Degraded" then
  return t.degraded(detail)
end
local counters = t.replicas(status.updatedReplicas, t.get(obj, "spec", "replicas") or 1, "updated")
  or t.replicas(status.availableReplicas, t.get(obj, "spec", "replicas") or 1, "available")
return t.progressing(detail .. (counters and ", " .. counters or ""))
