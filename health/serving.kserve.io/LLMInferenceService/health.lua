-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready, and by the parts that say it cannot become ready. Facts: serving.kserve.io/v1alpha2 and v1alpha1.
-- status.observedGeneration is in the schema and nobody writes it. A multi-node workload's condition can freeze at
-- "is progressing" although its LeaderWorkerSet is available meanwhile: that is said after two minutes, and is no
-- failure.
local t = require("truce")

local FROZEN_S = 120
local WORKLOADS = { "MainWorkloadReady", "WorkerWorkloadReady", "PrefillWorkloadReady", "PrefillWorkerWorkloadReady" }
local BROKEN = { "PresetsCombined", "ScalingReady", "PrefillScalingReady" }

local ready = t.condition(obj, "Ready")
if not ready then
  return t.progressing("waiting for condition Ready")
end
for _, kind in ipairs(BROKEN) do
  if t.is(obj, kind, "False") then
    return t.degraded(t.named(t.condition(obj, kind)))
  end
end
if t.is(obj, "GroupDegraded") then
  return t.degraded(t.named(t.condition(obj, "GroupDegraded")))
end
if ready.status == "True" then
  return t.healthy()
end
for _, kind in ipairs(WORKLOADS) do
  local workload = t.condition(obj, kind)
  if workload and workload.status == "False" then
    local says = t.named(workload)
    if says:find("ProgressDeadlineExceeded", 1, true) then
      return t.degraded(says)
    end
    local age = t.age(workload.lastTransitionTime)
    if not age or not says:find("LWS", 1, true) then
      return t.progressing(says)
    end
    if age < FROZEN_S then
      return t.again(t.progressing(says), FROZEN_S - age)
    end
    return t.progressing(says .. " (unchanged for " .. t.duration(FROZEN_S)
      .. " or more: look whether its LeaderWorkerSet is available; the controller may not have read it again)")
  end
end
return t.progressing(t.named(t.explaining(obj, ready)))
