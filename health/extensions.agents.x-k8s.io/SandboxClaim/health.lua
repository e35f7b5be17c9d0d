-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready and its reason; Finished tells how it ended. Facts: extensions.agents.x-k8s.io/v1beta1;
-- generations only in conditions.
local t = require("truce")

local finished = t.condition(obj, "Finished")
if finished and finished.status == "True" then
  if finished.reason == "PodFailed" then
    return t.degraded_for_good(t.named(finished))
  end
  return t.healthy("finished: " .. t.says(finished))
end
local ready = t.condition(obj, "Ready")
if ready and ready.status == "False" and (ready.reason == "ClaimExpired" or ready.reason == "SandboxExpired") then
  return t.healthy("finished: " .. t.says(ready))
end
if ready and ready.status == "False" and ready.reason == "SandboxSuspended" then
  return t.suspended(t.says(ready))
end
return t.deciding(obj, "Ready", {
  degraded = { "ReconcilerError", "TemplateNotFound", "WarmPoolNotFound", "MultiplePods", "PodFailed" },
})
