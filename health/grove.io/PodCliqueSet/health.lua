-- SPDX-License-Identifier: Apache-2.0
-- Decided by lastErrors, the condition UpdateInProgress or updateProgress, and availableReplicas. Facts:
-- grove.io/v1alpha1. An update without updateEndedAt runs; a breach of its deadline is UpdateInProgress=Unknown.
local t = require("truce")
local grove = require("grove")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 0)
local progress = t.table(status.updateProgress)
local failing = grove.failing(obj, progress)
if failing then
  return failing
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
