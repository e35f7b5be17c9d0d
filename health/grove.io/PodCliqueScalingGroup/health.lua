-- SPDX-License-Identifier: Apache-2.0
-- Decided by MinAvailableBreached, lastErrors, updateProgress and availableReplicas. Facts: grove.io/v1alpha1.
-- Replicas are an autoscaler's.
local t = require("truce")

local ERRORS_S = 60 -- an error is news only behind the first minute of an update: until then it mostly goes by

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
local errors = t.table(status.lastErrors)
if #errors > 0 then
  local e, begun = errors[#errors], progress.updateStartedAt or t.get(obj, "metadata", "creationTimestamp")
  local says = string.format("%s: %s", t.text(t.get(e, "code"), "error"), t.text(t.get(e, "description"), "no words"))
  local age = t.age(begun)
  if age and age < ERRORS_S then
    return t.again(t.progressing(says), ERRORS_S - age)
  end
  return t.degraded(says)
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
