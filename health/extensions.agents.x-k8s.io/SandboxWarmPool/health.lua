-- SPDX-License-Identifier: Apache-2.0
-- Decided by status.readyReplicas against spec.replicas, which an autoscaler may write. Facts:
-- extensions.agents.x-k8s.io/v1beta1; v1alpha1 publishes no generation. Counts of 0 are left out of the status.
local t = require("truce")

local status = t.status(obj)
if next(status) == nil then
  return t.progressing("waiting for its controller: there is no status yet")
end
if status.observedGeneration ~= nil and t.stale(obj) then
  return t.unobserved(obj)
end
local want = t.number(t.get(obj, "spec", "replicas"), 0)
local short = t.replicas(status.readyReplicas, want, "sandboxes ready")
if short then
  return t.progressing(short)
end
local have = t.number(status.replicas, 0)
if have > want then
  return t.progressing(string.format("%s sandboxes, %s wanted", have, want))
end
return t.healthy()
