-- SPDX-License-Identifier: Apache-2.0
-- Decided by Paused and Ready; Active=False is idle. Facts: keda.sh/v1alpha1; no generation is published.
local t = require("truce")

if t.is(obj, "Paused") then
  return t.suspended("paused")
end
return t.deciding(obj, "Ready", { on_false = "Degraded", healthy = t.is(obj, "Active", "False") and "idle" or nil })
