-- SPDX-License-Identifier: Apache-2.0
-- By its counters, once status.observedGeneration has caught up: those of the new revision up to the partition, then
-- all. A rollout that spec.updateStrategy.rollingUpdate.paused holds is Suspended.
local t = require("truce")
local kruise = require("kruise")

local late = t.unobserved(obj)
if late then
  return late
end
local status = t.status(obj)
local wanted = t.number(t.get(obj, "spec", "replicas"), 1)
local rolling, updates = kruise.rolling(obj, wanted, status.updatedReplicas)
if rolling then
  return rolling
end
local short = t.replicas(status.readyReplicas, wanted, "ready")
if short then
  return t.progressing(short)
end
return t.healthy(updates < wanted and string.format("%s of %s updated, held by the partition", updates, wanted) or nil)
