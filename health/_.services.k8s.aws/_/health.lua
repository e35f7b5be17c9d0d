-- SPDX-License-Identifier: Apache-2.0
-- ACK.Terminal: nothing happens any more until the resource is changed. ACK.Recoverable: an error that is tried
-- again. Else ACK.ResourceSynced, or Ready in newer controllers.
local t = require("truce")

local terminal, recoverable = t.condition(obj, "ACK.Terminal"), t.condition(obj, "ACK.Recoverable")
if terminal and terminal.status == "True" then
  return t.degraded_for_good(t.says(terminal))
end
if recoverable and recoverable.status == "True" then
  return t.degraded(t.says(recoverable))
end
local references = t.condition(obj, "ACK.ReferencesResolved")
if references and references.status ~= "True" then
  return t.progressing("references: " .. t.says(references))
end
local synced = t.condition(obj, "ACK.ResourceSynced")
local ready = t.condition(obj, "Ready")
if ready and ready.status ~= "True" then
  return t.progressing(t.says(ready))
end
if synced and synced.status ~= "True" then
  return t.progressing(t.says(synced))
end
if not ready and not synced then
  return t.progressing("waiting for condition ACK.ResourceSynced")
end
return t.healthy()
