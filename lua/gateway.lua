-- SPDX-License-Identifier: Apache-2.0
-- Gateway API: what several groups have in common.
local t = require("truce")
local gateway = {}

-- Policies (BackendTLSPolicy, BackendTrafficPolicy, SecurityPolicy …) say in status.ancestors how each gateway takes
-- them: Accepted, ResolvedRefs and Programmed, where they are there, must be True and of this generation.
function gateway.policy(obj)
  local generation = t.get(obj, "metadata", "generation")
  local count, worst = 0, nil

  local function note(result)
    if not worst or (result.status == "Degraded" and worst.status ~= "Degraded") then
      worst = result
    end
  end

  for _, ancestor in ipairs(t.table(t.status(obj).ancestors)) do
    local ref = t.get(ancestor, "ancestorRef")
    local where = t.text(t.get(ref, "kind"), "Gateway") .. " " .. t.text(t.get(ref, "name"), "?") .. ": "
    count = count + 1
    for _, kind in ipairs({ "Accepted", "ResolvedRefs", "Programmed" }) do
      local condition = t.condition_in(t.get(ancestor, "conditions"), kind, generation)
      if condition and condition.status == "False" then
        note(t.degraded(where .. t.says(condition)))
      elseif condition and condition.status ~= "True" then
        note(t.progressing(where .. t.says(condition)))
      end
    end
  end
  if count == 0 then
    return t.progressing("waiting for a gateway to take up the policy")
  end
  return worst or t.healthy()
end

return gateway
