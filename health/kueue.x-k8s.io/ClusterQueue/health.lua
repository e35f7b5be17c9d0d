-- SPDX-License-Identifier: Apache-2.0
-- Decided by spec.stopPolicy, then Active. Facts: kueue.x-k8s.io/v1beta2 and v1beta1.
local t = require("truce")

local policy = t.text(t.get(obj, "spec", "stopPolicy"), "None")
if policy ~= "None" then
  return t.suspended("spec.stopPolicy is " .. policy)
end
return t.deciding(obj, "Active", { on_false = "Degraded" })
