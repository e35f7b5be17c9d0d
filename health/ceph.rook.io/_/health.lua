-- SPDX-License-Identifier: Apache-2.0
-- CephBlockPool, CephFilesystem, CephObjectStore and the like: status.phase. status.observedGeneration, where it is
-- published, moves on success only, so that a failure comes before it.
local t = require("truce")

if obj.kind == "CephBucketNotification" or obj.kind == "CephCOSIDriver" then
  return nil
end
local status = t.status(obj)
local phase = t.text(status.phase, "waiting for the operator")
if phase:find("Fail") or phase == "Error" then
  return t.degraded(phase)
end
if status.observedGeneration ~= nil and t.stale(obj) then
  return t.unobserved(obj)
end
if t.contains({ "Ready", "Connected", "Created" }, phase) then
  return t.healthy()
end
return t.progressing(phase)
