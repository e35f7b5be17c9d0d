-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready; on the way there by Launched, Registered and Initialized. Drifted, Consolidatable and
-- DisruptionReason are news, not faults. Facts: karpenter.sh/v1; generations only in conditions.
local t = require("truce")

if t.is(obj, "Ready") then
  return t.healthy()
end
for _, kind in ipairs({ "Launched", "Registered", "Initialized" }) do
  local c = t.condition(obj, kind)
  if c and c.status ~= "True" then
    return t.progressing(t.named(c))
  end
end
return t.deciding(obj, "Ready")
