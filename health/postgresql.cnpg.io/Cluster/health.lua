-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides; then the instances that are ready, and whether WAL is archived: a database that cannot write
-- it away fills its disk. Hibernation, fenced instances and a switchover that waits for its user are Suspended.
local t = require("truce")

local broken = {
  "Cluster is unrecoverable and needs manual intervention",
  "Cluster is in an unrecoverable state, needs manual intervention",
  "Cluster has incomplete or invalid image catalog",
  "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
  "Cluster cannot proceed to reconciliation due to an error while interacting with plugins",
  "Cluster cannot execute instance online upgrade due to missing architecture binary",
  "Unable to create required cluster objects",
  "Not enough disk space",
}

local status = t.status(obj)
local phase = t.text(status.phase, "waiting for the operator")
local reason = t.text(status.phaseReason)
local says = reason and phase .. ": " .. reason or phase

if t.is(obj, "cnpg.io/hibernation") then
  return t.suspended("hibernated")
end
if t.contains(broken, phase) then
  return t.degraded(says)
end
if phase == "Waiting for user action" then
  return t.suspended(says)
end
if phase ~= "Cluster in healthy state" then
  return t.progressing(says)
end

local fenced = t.annotation(obj, "cnpg.io/fencedInstances")
if fenced and fenced ~= "[]" then
  return t.suspended("fenced: " .. fenced)
end
local short = t.replicas(status.readyInstances, t.get(obj, "spec", "instances") or 1, "instances ready")
if short then
  return t.progressing(short)
end
local archiving = t.condition(obj, "ContinuousArchiving")
if archiving and archiving.status == "False" then
  return t.degraded(t.says(archiving))
end
return t.healthy()
