-- SPDX-License-Identifier: Apache-2.0
-- Kyverno: policies, of a namespace or of the cluster. (Those that clean up have no Ready.)
local t = require("truce")
local kyverno = {}

-- Ready decides (older: status.ready): False means that the policy is not in force.
function kyverno.policy(obj)
  local status = t.status(obj)
  if status.conditions == nil and status.ready ~= nil then
    if status.ready == true then
      return t.healthy()
    end
    return t.progressing("waiting for Kyverno to put the policy in force")
  end
  return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for Kyverno to put the policy in force" })
end

return kyverno
