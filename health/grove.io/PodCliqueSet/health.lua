-- SPDX-License-Identifier: Apache-2.0
-- Decided by lastErrors, the condition UpdateInProgress or updateProgress, and availableReplicas. Facts:
-- grove.io/v1alpha1. An update without updateEndedAt runs; a breach of its deadline is UpdateInProgress=Unknown.
local t = require("truce")

local ERRORS_S = 60 -- an error is news only behind the first minute of an update: until then it mostly goes by

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 0)
local progress = t.table(status.updateProgress)
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
local update = t.condition(obj, "UpdateInProgress")
if update and update.reason == "ProgressDeadlineExceeded" then
  return t.degraded(t.says(update))
end
if progress.updateStartedAt and not progress.updateEndedAt or update and update.status == "True" then
  return t.progressing(string.format("rolling out: %s of %s replicas updated, %s available",
    t.number(status.updatedReplicas, 0), want, t.number(status.availableReplicas, 0)))
end
local short = t.replicas(status.availableReplicas, want, "replicas available")
if short then
  return t.progressing(short)
end
if want == 0 then
  return t.healthy("scaled to 0")
end
return t.healthy()
