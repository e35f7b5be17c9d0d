-- SPDX-License-Identifier: Apache-2.0
-- NVIDIA's NIM operator: models that are fetched, and served.
local t = require("truce")
local nim = {}

-- status.state decides; the conditions say why it is not Ready.
function nim.judge(obj)
  local status = t.status(obj)
  local state = t.text(status.state, "waiting for the operator")
  local why
  for _, condition in ipairs(t.table(status.conditions)) do
    local kind = t.text(t.get(condition, "type"), "")
    if t.get(condition, "status") == "True" and (kind:find("FAILED$") or kind == "Failed") then
      why = t.says(condition)
    end
  end
  if state == "Ready" then
    return t.healthy()
  end
  if state == "Failed" then
    return t.degraded(why or state)
  end
  return t.progressing(why and state .. ", " .. why or state)
end

return nim
