-- SPDX-License-Identifier: Apache-2.0
-- Queue, Exchange, Binding, User, Vhost, Policy, Permission and so on: Ready decides. status.observedGeneration moves
-- on success only, so that a failure comes before it.
local t = require("truce")

local ready = t.condition(obj, "Ready")
if ready and ready.status == "False" then
  return t.degraded(t.says(ready))
end
return t.deciding(obj, "Ready", { observed = true })
