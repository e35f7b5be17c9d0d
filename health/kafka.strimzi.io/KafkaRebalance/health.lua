-- SPDX-License-Identifier: Apache-2.0
-- The condition that is True names the state. A proposal waits for a person, who may also have stopped it.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local states = {
  "NotReady", "ReconciliationPaused", "Stopped", "ProposalReady", "PendingProposal", "Rebalancing", "New",
}
for _, kind in ipairs(states) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "True" then
    local says = condition.reason == nil and condition.message == nil and kind or kind .. ": " .. t.says(condition)
    if kind == "NotReady" then
      return t.degraded(says)
    end
    if kind == "ProposalReady" then
      return t.suspended("ProposalReady: waiting for approval")
    end
    if kind == "Stopped" or kind == "ReconciliationPaused" then
      return t.suspended(says)
    end
    return t.progressing(says)
  end
end
return t.deciding(obj, "Ready")
