-- SPDX-License-Identifier: Apache-2.0
-- Healthy decides; Online=False: Elasticsearch does not answer; Limited is no fault, but shown.
local t = require("truce")

for _, kind in ipairs({ "Active", "Online" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "False" then
    return t.progressing(kind .. " is False: " .. t.says(condition))
  end
end
local limited = t.is(obj, "Limited") and "limited: " .. t.says(t.condition(obj, "Limited")) or nil
return t.deciding(obj, "Healthy", { on_false = "Degraded", healthy = limited })
