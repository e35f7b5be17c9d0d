-- SPDX-License-Identifier: Apache-2.0
-- Synced decides once status.observedGeneration has caught up. False means that no key of this cluster opens it, or
-- that a Secret of the name is there already: neither goes away by itself.
local t = require("truce")

local late = t.unobserved(obj)
if late and next(t.status(obj)) ~= nil then
  return late
end
local synced = t.condition(obj, "Synced")
if synced and synced.status == "False" then
  return t.degraded_for_good(t.says(synced))
end
return t.deciding(obj, "Synced", { waiting = "waiting for the controller to unseal it" })
