-- SPDX-License-Identifier: Apache-2.0
-- Decided by MinAvailableBreached, lastErrors, updateProgress and the counters. Facts: grove.io/v1alpha1. Replicas
-- are an autoscaler's; 0 of them is an intended idle state.
local t = require("truce")
local grove = require("grove")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 1)
if want == 0 then
  return t.healthy("scaled to 0")
end
if t.is(obj, "MinAvailableBreached") then
  return t.degraded(string.format("%s (%s of %s ready)", t.says(t.condition(obj, "MinAvailableBreached")),
    t.number(status.readyReplicas, 0), want))
end
local progress = t.table(status.updateProgress)
local failing = grove.failing(obj, progress)
if failing then
  return failing
end
local gated = t.number(status.scheduleGatedReplicas, 0)
if gated > 0 then
  return t.progressing(string.format("%s of %s pods wait behind a scheduling gate", gated, want))
end
if t.is(obj, "PodCliqueScheduled", "False") then
  return t.progressing(t.named(t.condition(obj, "PodCliqueScheduled")))
end
if progress.updateStartedAt and not progress.updateEndedAt then
  return t.progressing(string.format("rolling out: %s of %s pods updated", t.number(status.updatedReplicas, 0), want))
end
local short = t.replicas(status.readyReplicas, want, "ready")
if short then
  return t.progressing(short)
end
return t.healthy()
