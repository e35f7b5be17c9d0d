-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready. Active=False is scale-to-zero, which is what was asked for. Facts: serving.knative.dev/v1.
local t = require("truce")

local answer = t.deciding(obj, "Ready", { on_false = "Degraded", observed = true })
local active = t.condition(obj, "Active")
if answer.status == "Healthy" and active and active.status == "False" then
  return t.healthy("scaled to 0: " .. t.says(active))
end
return answer
