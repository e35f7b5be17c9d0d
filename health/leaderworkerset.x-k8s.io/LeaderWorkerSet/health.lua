-- SPDX-License-Identifier: Apache-2.0
-- Decided by the conditions Stalled, Degraded, UpdateInProgress, Progressing and Available, then by the counters of
-- groups. Facts: leaderworkerset.x-k8s.io/v1. A condition that went back to False keeps its old reason and message, so
-- words are taken only from a True one; counters leave out a group whose workers do not exist yet.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local want = t.number(t.get(obj, "spec", "replicas"), 1)
local ready = t.number(status.readyReplicas, 0)
local updated = t.number(status.updatedReplicas, 0)

if t.is(obj, "Stalled") then
  return t.degraded_for_good(t.says(t.condition(obj, "Stalled")))
end
if t.is(obj, "Degraded") then
  return t.degraded_for_good(t.says(t.condition(obj, "Degraded")))
end
if t.is(obj, "UpdateInProgress") then
  return t.progressing(string.format("rolling out: %s of %s groups updated, %s ready", updated, want, ready))
end
if t.is(obj, "Progressing") then
  return t.progressing(string.format("%s of %s groups ready", ready, want))
end
if not t.is(obj, "Available") then
  return t.progressing(string.format("waiting for condition Available: %s of %s groups ready", ready, want))
end
local short = t.replicas(ready, want, "groups ready")
if short then
  return t.progressing(short)
end
if want == 0 then
  return t.healthy("scaled to 0 groups")
end
local partition = t.number(t.get(obj, "spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition"), 0)
short = t.replicas(updated, want - partition, "groups updated")
if short then
  return t.progressing(short)
end
if updated < want then
  return t.healthy(string.format("canary %s/%s: the groups below partition %s keep the old template", updated, want,
    partition))
end
return t.healthy()
