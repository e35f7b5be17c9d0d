-- SPDX-License-Identifier: Apache-2.0
-- status.updateStatus decides, once status.observedGeneration has caught up (older operators: the counters of pods).
-- Kinds that run nothing (rules, users, scrape objects) have no health until the operator tells something of them.
local t = require("truce")

local status = t.status(obj)
local state, reason = t.text(status.updateStatus) or t.text(status.clusterStatus), t.text(status.reason)
local runs = t.get(obj, "spec", "replicaCount") ~= nil or t.contains({
  "VLAgent", "VLCluster", "VLSingle", "VLogs", "VMAgent", "VMAlert", "VMAlertmanager", "VMAnomaly", "VMAuth",
  "VMCluster", "VMSingle", "VTCluster", "VTSingle",
}, obj.kind)
if not state and not runs then
  return nil
end
local late = (status.observedGeneration ~= nil or next(status) == nil) and t.unobserved(obj)
if late then
  return late
end
if not state and t.number(status.unavailableReplicas, 0) > 0 then
  return t.progressing(string.format("%s pods not available", status.unavailableReplicas))
end
if not state or state == "operational" then
  return t.healthy()
end
local says = reason and state .. ": " .. reason or state
if state == "failed" then
  return t.degraded(says)
end
if state == "paused" then
  return t.suspended("held by spec.paused")
end
return t.progressing(says)
