-- SPDX-License-Identifier: Apache-2.0
-- The operators of Percona: their databases.
local t = require("truce")
local percona = {}

-- status.state decides, once status.observedGeneration has caught up.
function percona.database(obj)
  local late = t.unobserved(obj)
  if late then
    return late
  end
  local status = t.status(obj)
  local state = t.text(status.state, "waiting for the operator")
  local messages = {}
  for _, message in ipairs(t.table(status.message)) do
    messages[#messages + 1] = t.text(message)
  end
  local detail = t.text(status.message) or table.concat(messages, ", ")
  local says = detail ~= "" and state .. ": " .. detail or state

  if state == "ready" then
    return t.healthy()
  end
  if state == "error" then
    return t.degraded(says)
  end
  if state == "paused" then
    return t.suspended("held by spec.pause")
  end
  local ready, size = t.number(status.ready), t.number(status.size)
  return t.progressing(says .. (ready and size and string.format(", %s of %s ready", ready, size) or ""))
end

return percona
