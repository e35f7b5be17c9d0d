-- SPDX-License-Identifier: Apache-2.0
-- Ready decides (older: status.ready): False means that the policy is not in force.
local t = require("truce")

local status = t.status(obj)
if status.conditions == nil and status.ready ~= nil then
  if status.ready == true then
    return t.healthy()
  end
  return t.progressing("waiting for Kyverno to put the policy in force")
end
return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for Kyverno to put the policy in force" })
