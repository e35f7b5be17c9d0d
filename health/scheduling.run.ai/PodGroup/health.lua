-- SPDX-License-Identifier: Apache-2.0
-- Decided by schedulingConditions of type UnschedulableOnNodePool, which is a failure when it lasts (with nothing
-- allocated: since the creation); nothing is written for success, but resources that are allocated. Facts:
-- scheduling.run.ai/v2alpha2; no generation is published.
local t = require("truce")

local UNSCHEDULABLE_S = 600

local function why(condition)
  local reason = t.table(t.table(condition.reasons)[1])
  return string.format("%s: %s", t.text(condition.nodePool, "default"),
    t.text(reason.message) or t.text(reason.reason) or t.text(condition.message) or "unschedulable")
end

local status = t.status(obj)
local blocked = t.condition_in(status.schedulingConditions, "UnschedulableOnNodePool")
local allocated = next(t.table(t.get(status, "resourcesStatus", "allocated"))) ~= nil
if blocked and blocked.status == "True" then
  local since = allocated and blocked.lastTransitionTime or t.get(obj, "metadata", "creationTimestamp")
  return t.patience(since, UNSCHEDULABLE_S, "unschedulable on node pool " .. why(blocked))
end
if not allocated then
  return t.progressing("no resources are allocated yet")
end
return t.healthy()
