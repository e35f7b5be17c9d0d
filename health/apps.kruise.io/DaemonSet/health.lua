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
local wanted = t.number(status.desiredNumberScheduled, 0)
local rolling = kruise.rolling(obj, wanted, status.updatedNumberScheduled)
if rolling then
  return rolling
end
local short = t.replicas(status.numberAvailable, wanted, "available")
if short then
  return t.progressing(short)
end
return t.healthy()
