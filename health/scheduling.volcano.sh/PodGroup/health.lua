-- SPDX-License-Identifier: Apache-2.0
-- Decided by the phase; Unknown is a running gang that lost a part. Unschedulable is a failure when it lasts; its own
-- time is written anew each minute, so it counts from the creation, or from when the gang was last Scheduled. Facts:
-- scheduling.volcano.sh/v1beta1; no generation is published.
local t = require("truce")

local UNSCHEDULABLE_S = 600

local status = t.status(obj)
local phase = t.text(status.phase, "Pending")
local blocked = t.condition(obj, "Unschedulable")
local says = blocked and blocked.status == "True" and t.says(blocked)
if phase == "Running" or phase == "Completed" then
  return t.healthy()
end
if phase == "Unknown" then
  return t.degraded(string.format("%s of %s pods of the gang run%s", t.number(status.running, 0),
    t.number(t.get(obj, "spec", "minMember"), 0), says and ": " .. says or ""))
end
if says then
  local since = t.get(obj, "metadata", "creationTimestamp")
  local placed = t.get(t.condition(obj, "Scheduled"), "lastTransitionTime")
  if (t.time(placed) or 0) > (t.time(since) or 0) then
    since = placed
  end
  return t.patience(since, UNSCHEDULABLE_S, says)
end
return t.progressing("phase is " .. phase)
