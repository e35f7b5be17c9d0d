-- SPDX-License-Identifier: Apache-2.0
-- Decided by Paused, Ready and Fallback; Active=False is idle. A Fallback can be left over from long ago and its
-- condition has no time, so beside a True Ready it counts only when a trigger has failed for some minutes, as
-- status.health tells (one failure each 15 s or so). Facts: keda.sh/v1alpha1; no generation is published.
local t = require("truce")

local FAILURES = 20

local function failing()
  local health = t.table(t.status(obj).health)
  for _, name in ipairs(t.keys(health)) do
    local trigger = health[name]
    if t.get(trigger, "status") == "Failing" and t.number(t.get(trigger, "numberOfFailures"), 0) >= FAILURES then
      return name
    end
  end
  return nil
end

if t.is(obj, "Paused") then
  local count = t.number(t.status(obj).pausedReplicaCount)
  return t.suspended(count and string.format("paused at %s replicas", count) or "paused")
end
local ready, fallback = t.condition(obj, "Ready"), t.condition(obj, "Fallback")
if ready and ready.status == "False" then
  return t.degraded(t.says(ready))
end
if fallback and fallback.status == "True" then
  local says = "fallback replicas are used: " .. t.says(fallback)
  if not ready or ready.status ~= "True" then
    return t.degraded(says)
  end
  local trigger = failing()
  if trigger then
    return t.degraded(string.format("fallback replicas are used: trigger %s has failed for minutes", trigger))
  end
  return t.healthy(says)
end
return t.deciding(obj, "Ready", { healthy = t.is(obj, "Active", "False") and "idle" or nil })
