-- SPDX-License-Identifier: Apache-2.0
-- Decided by DisruptionTarget and PodGroupInitiallyScheduled. The latter tells of the first placement only and never
-- goes back to False: of the present its pods tell. Facts: scheduling.k8s.io/v1beta1; generations only in conditions.
local t = require("truce")

if t.is(obj, "DisruptionTarget") then
  return t.progressing("about to be disrupted: " .. t.says(t.condition(obj, "DisruptionTarget")))
end
return t.deciding(obj, "PodGroupInitiallyScheduled", {
  degraded = { "SchedulerError" },
  healthy = "placed once; whether it still runs its pods tell",
  waiting = "waiting for the scheduler",
})
