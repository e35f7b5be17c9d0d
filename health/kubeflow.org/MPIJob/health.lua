-- SPDX-License-Identifier: Apache-2.0
-- Decided by Failed, Succeeded, Suspended, Restarting and Running, each only when it is True: a resumed job keeps a
-- Suspended of False. Facts: kubeflow.org/v2beta1; no generation is published.
local t = require("truce")

local function workers()
  local status = t.table(t.get(t.status(obj), "replicaStatuses", "Worker"))
  local want = t.number(t.get(obj, "spec", "mpiReplicaSpecs", "Worker", "replicas"), 0)
  return string.format("%s of %s workers run", t.number(status.active, 0), want)
end

if t.is(obj, "Failed") then
  return t.degraded_for_good(t.says(t.condition(obj, "Failed")))
end
if t.is(obj, "Succeeded") then
  return t.healthy("succeeded")
end
if t.is(obj, "Suspended") then
  return t.suspended(t.says(t.condition(obj, "Suspended")))
end
if t.is(obj, "Restarting") then
  return t.progressing("restarting, " .. workers())
end
if t.is(obj, "Running") then
  return t.healthy(workers())
end
if t.get(obj, "spec", "runPolicy", "suspend") == true then
  return t.progressing("suspending")
end
return t.progressing(workers())
