-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready; what the server behind it cannot do is a failure, that it is not ready is waited for. Facts:
-- serving.kserve.io/v1alpha1.
local t = require("truce")

for _, kind in ipairs({ "FrameworkSupported", "IsMMSPredictor", "MemoryResourceAvailable" }) do
  if t.is(obj, kind, "False") then
    return t.degraded(t.named(t.condition(obj, kind)))
  end
end
return t.deciding(obj, "Ready")
