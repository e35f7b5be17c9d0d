-- SPDX-License-Identifier: Apache-2.0
-- Decided by lastErrors, the condition UpdateInProgress or updateProgress, and availableReplicas. Facts:
-- grove.io/v1alpha1. An update without updateEndedAt runs; a breach of its deadline is UpdateInProgress=Unknown.
local t = require("truce")

local ERRORS_S = 60

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 0)
local errors = t.table(status.lastErrors)
if #errors > 0 then
  local e = errors[#errors]
  return t.patience(t.get(e, "observedAt"), ERRORS_S,
    string.format("%s: %s", t.text(t.get(e, "code"), "error"), t.text(t.get(e, "description"), "of its controller")))
end
local update = t.condition(obj, "UpdateInProgress")
if update and update.reason == "ProgressDeadlineExceeded" then
  return t.degraded(t.says(update))
end
local progress = t.table(status.updateProgress)
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
