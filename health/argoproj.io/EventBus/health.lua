-- SPDX-License-Identifier: Apache-2.0
-- Configured and Deployed decide: False is Degraded, Unknown or missing is waited for.
local t = require("truce")

local waits
for _, kind in ipairs({ "Configured", "Deployed" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "False" then
    return t.degraded(t.says(condition))
  end
  if not condition or condition.status ~= "True" then
    waits = waits or (condition and t.says(condition) or "waiting for condition " .. kind)
  end
end
if waits then
  return t.progressing(waits)
end
return t.healthy()
