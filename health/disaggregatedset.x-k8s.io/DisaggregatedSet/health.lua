-- SPDX-License-Identifier: Apache-2.0
-- Decided by Progressing and Available, of which one is True; the counters of the roles say what is waited for.
-- Facts: disaggregatedset.x-k8s.io/v1. It publishes no failure: a role that never comes up stays Progressing.
local t = require("truce")

local function roles()
  local says, wanted = {}, 0
  for _, role in ipairs(t.table(t.status(obj).roleStatuses)) do
    local want = t.number(t.get(role, "replicas"), 0)
    local ready = t.number(t.get(role, "readyReplicas"), 0)
    local updated = t.number(t.get(role, "updatedReplicas"), 0)
    wanted = wanted + want
    if ready < want or updated < want then
      says[#says + 1] = string.format("%s %s of %s ready, %s updated", t.text(t.get(role, "name"), "?"), ready, want,
        updated)
    end
  end
  return table.concat(says, "; "), wanted
end

local late = t.unobserved(obj)
if late then
  return late
end
local short, wanted = roles()
if t.is(obj, "Progressing") then
  return t.progressing(t.text(short, t.says(t.condition(obj, "Progressing"))))
end
if not t.is(obj, "Available") then
  return t.progressing(t.text(short, "waiting for condition Available"))
end
if wanted == 0 then
  return t.healthy("every role is scaled to 0")
end
return t.healthy()
