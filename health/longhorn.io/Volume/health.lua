-- SPDX-License-Identifier: Apache-2.0
-- status.robustness decides while it is attached: faulted is lost until somebody salvages it, degraded lacks
-- replicas. Detached is fine unless its replicas cannot be placed (condition Scheduled).
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.state, "waiting for Longhorn")
local scheduled = t.condition(obj, "Scheduled")
if status.robustness == "faulted" then
  return t.degraded_for_good("faulted: no replica is usable, it must be salvaged or restored")
end
if scheduled and scheduled.status == "False" then
  return t.degraded(t.says(scheduled))
end
if status.robustness == "degraded" then
  return t.degraded("degraded: fewer replicas than wanted")
end
if status.restoreRequired == true then
  return t.progressing("is being restored")
end
if state == "detached" then
  return t.healthy("detached")
end
if state == "attached" and status.robustness == "healthy" then
  return t.healthy()
end
return t.progressing(state)
