-- SPDX-License-Identifier: Apache-2.0
-- By its counters, once status.observedGeneration has caught up: those of the new revision up to the partition, then
-- all. A rollout that spec.updateStrategy.paused holds is Suspended.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local wanted = t.number(t.get(obj, "spec", "replicas"), 1)
local partition = t.number(t.get(obj, "spec", "updateStrategy", "partition"), 0)
local updates = t.number(status.expectedUpdatedReplicas) or math.max(wanted - partition, 0)

local updated = t.replicas(status.updatedReplicas, updates, "updated")
if updated and t.get(obj, "spec", "updateStrategy", "paused") == true then
  return t.suspended("the update is paused, " .. updated)
end
local short = updated or t.replicas(status.updatedReadyReplicas, updates, "updated ones ready")
  or t.replicas(status.availableReplicas, wanted, "available")
if short then
  return t.progressing(short)
end
if t.number(status.replicas, 0) > wanted then
  return t.progressing(string.format("%s replicas too many are to go", t.number(status.replicas, 0) - wanted))
end
return t.healthy(updates < wanted and string.format("%s of %s updated, held by the partition", updates, wanted) or nil)
