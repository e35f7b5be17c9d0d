-- SPDX-License-Identifier: Apache-2.0
-- Ready (False, or NotReady=True, is an error of the topic), once status.observedGeneration has caught up. A change
-- of the number of replicas takes its time beside it; a topic that is not managed has no Ready.
local t = require("truce")
local strimzi = require("strimzi")

local early = strimzi.early(obj)
if early then
  return early
end
if t.is(obj, "Unmanaged") then
  return t.healthy("not managed by the operator")
end
if t.is(obj, "NotReady") then
  return t.degraded(t.says(t.condition(obj, "NotReady")))
end
local ready = t.deciding(obj, "Ready", { on_false = "Degraded" })
if ready.status ~= "Healthy" then
  return ready
end
local change = t.table(t.status(obj).replicasChange)
if t.text(change.state) then
  local says = string.format("change to %s replicas is %s", t.number(change.targetReplicas, "?"), change.state)
  if t.text(change.message) then
    return t.degraded(says .. ": " .. change.message)
  end
  return t.progressing(says)
end
return ready
