-- SPDX-License-Identifier: Apache-2.0
-- Decided by MinAvailableBreached, lastErrors, updateProgress and availableReplicas. Facts: grove.io/v1alpha1.
-- Replicas are an autoscaler's.
local t = require("truce")
local grove = require("grove")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 1)
local available = t.number(status.availableReplicas, 0)
if want == 0 then
  return t.healthy("scaled to 0")
end
if t.is(obj, "MinAvailableBreached") then
  return t.degraded(string.format("%s (%s of %s available)", t.says(t.condition(obj, "MinAvailableBreached")),
    available, want))
end
local progress = t.table(status.updateProgress or status.rollingUpdateProgress)
local failing = grove.failing(obj, progress)
if failing then
  return failing
end
if progress.updateStartedAt and not progress.updateEndedAt then
  return t.progressing(string.format("rolling out: %s of %s replicas updated, %s available",
    t.number(status.updatedReplicas, 0), want, available))
end
local short = t.replicas(available, want, "replicas available")
if short then
  return t.progressing(short)
end
return t.healthy()
