-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready and its reason. A condition Suspended may linger after a resume and is not read. Facts:
-- agents.x-k8s.io/v1beta1; generations only in conditions.
local t = require("truce")

local ready = t.condition(obj, "Ready")
if not ready then
  return t.progressing("waiting for condition Ready")
end
if ready.status == "True" then
  return t.healthy()
end
local reason, suspended = ready.reason, t.get(obj, "spec", "operatingMode") == "Suspended"
if suspended and reason == "SandboxSuspended" then
  return t.suspended("spec.operatingMode is Suspended")
end
if reason == "SandboxExpired" or reason == "PodSucceeded" then
  return t.healthy("finished: " .. t.says(ready))
end
if reason == "PodFailed" then
  return t.degraded_for_good(t.says(ready))
end
if reason == "ReconcilerError" or reason == "MultiplePods" then
  return t.degraded(t.says(ready))
end
local finished = t.condition(obj, "Finished")
if finished and finished.status == "True" and finished.reason == "PodSucceeded" then
  return t.healthy("finished: " .. t.says(finished))
end
if finished and finished.status == "True" then
  return t.degraded_for_good(t.named(finished))
end
return t.progressing(suspended and "suspending: " .. t.says(ready) or t.says(ready))
