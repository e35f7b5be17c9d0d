-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. A canary that waits for its gate (a webhook that a person opens) is Suspended; one that
-- failed has been rolled back.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(status.phase, "waiting for Flagger")
local promoted = t.condition(obj, "Promoted")
local says = promoted and t.text(promoted.message) or phase
if t.get(obj, "spec", "suspend") == true then
  return t.suspended("held by spec.suspend")
end
if phase == "Succeeded" or phase == "Initialized" then
  return t.healthy()
end
if phase == "Failed" then
  return t.degraded(says)
end
if phase == "Waiting" or phase == "WaitingPromotion" then
  return t.suspended(says)
end
local weight, failed = t.number(status.canaryWeight, 0), t.number(status.failedChecks, 0)
if weight > 0 or failed > 0 then
  return t.progressing(string.format("%s, weight %s, %s failed checks", phase, weight, failed))
end
return t.progressing(says)
