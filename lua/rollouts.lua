-- SPDX-License-Identifier: Apache-2.0
-- Argo Rollouts: what measures a rollout.
local t = require("truce")
local rollouts = {}

-- status.phase decides. It runs once: a failure is its end, and so is an inconclusive result, which a person must
-- judge.
function rollouts.measured(obj)
  local status = t.status(obj)
  local phase = t.text(status.phase, "Pending")
  local message = t.text(status.message)
  local says = message and phase .. ": " .. message or phase

  if phase == "Successful" then
    return t.healthy(message)
  end
  if phase == "Failed" or phase == "Error" then
    return t.degraded_for_good(says)
  end
  if phase == "Inconclusive" then
    return t.suspended(says .. " (a person must decide)")
  end
  return t.progressing(says)
end

return rollouts
