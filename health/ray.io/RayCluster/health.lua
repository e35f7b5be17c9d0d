-- SPDX-License-Identifier: Apache-2.0
-- RayClusterProvisioned (older: status.state) stays as it was when pods fail later, so that the counters are read
-- after it. A suspended cluster is Suspended when its pods are gone. status.observedGeneration is written only when
-- something else of the status changes, so that one behind counts only while the number of workers is another one, too.
local t = require("truce")

-- The workers that the spec wants, counted as the operator does.
local function wanted()
  local count = 0
  for _, group in ipairs(t.table(t.get(obj, "spec", "workerGroupSpecs"))) do
    if t.get(group, "suspend") ~= true then
      local least = t.number(t.get(group, "minReplicas"), 0)
      local replicas = math.max(t.number(t.get(group, "replicas"), least), least)
      count = count + math.min(replicas, t.number(t.get(group, "maxReplicas"), replicas))
        * t.number(t.get(group, "numOfHosts"), 1)
    end
  end
  return count
end

local status = t.status(obj)
if next(status) == nil then
  return t.unobserved(obj)
end
if t.get(obj, "spec", "suspend") == true or t.is(obj, "RayClusterSuspending") then
  if status.state == "suspended" or t.is(obj, "RayClusterSuspended") then
    return t.suspended("held by spec.suspend")
  end
  return t.progressing("its pods are being removed")
end
local failure, head = t.condition(obj, "RayClusterReplicaFailure"), t.condition(obj, "HeadPodReady")
if failure and failure.status == "True" then
  return t.degraded(t.says(failure))
end
if status.state == "failed" or status.state == "unhealthy" then
  return t.degraded(t.text(status.reason, status.state))
end
if head and head.status ~= "True" then
  local reason = t.text(head.reason, "")
  if reason:find("BackOff$") or reason:find("Error$") or reason:find("^Err") or reason == "InvalidImageName" then
    return t.degraded("head pod: " .. t.says(head))
  end
  return t.progressing("head pod: " .. t.says(head))
end
if status.observedGeneration ~= nil and t.stale(obj) and t.number(status.desiredWorkerReplicas, 0) ~= wanted() then
  return t.unobserved(obj)
end
local workers = status.readyWorkerReplicas or (status.conditions == nil and status.availableWorkerReplicas) or 0
local short = t.replicas(workers, status.desiredWorkerReplicas, "workers ready")
if short then
  return t.progressing(short)
end
if status.state == "ready" or t.is(obj, "RayClusterProvisioned") then
  return t.healthy()
end
local provisioned = t.condition(obj, "RayClusterProvisioned")
return t.progressing(provisioned and t.says(provisioned) or "waiting for condition RayClusterProvisioned")
