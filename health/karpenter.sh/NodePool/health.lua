-- SPDX-License-Identifier: Apache-2.0
-- Decided by ValidationSucceeded, NodeClassReady, NodeRegistrationHealthy and Ready. Facts: karpenter.sh/v1;
-- generations only in conditions.
local t = require("truce")

for _, kind in ipairs({ "ValidationSucceeded", "NodeClassReady", "NodeRegistrationHealthy" }) do
  if t.is(obj, kind, "False") then
    return t.degraded(t.named(t.condition(obj, kind)))
  end
end
local nodes = t.number(t.get(t.status(obj), "resources", "nodes"))
return t.deciding(obj, "Ready", { healthy = nodes and string.format("%s nodes", nodes) })
