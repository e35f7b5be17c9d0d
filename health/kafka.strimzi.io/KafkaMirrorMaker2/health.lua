-- SPDX-License-Identifier: Apache-2.0
-- A connector's tasks can fail while the resource is Ready: what Kafka Connect says of them is read, too.
local t = require("truce")
local strimzi = require("strimzi")

local early = strimzi.early(obj)
if early then
  return early
end
if t.is(obj, "NotReady") then
  return t.degraded(t.says(t.condition(obj, "NotReady")))
end
local order, worst = { Degraded = 3, Progressing = 2, Suspended = 1 }, nil
for _, connector in ipairs(t.table(t.status(obj).connectors)) do
  local found = strimzi.connector(t.text(t.get(connector, "name"), "connector"), connector)
  if found and (not worst or order[found.status] > order[worst.status]) then
    worst = found
  end
end
if worst then
  return worst
end
return t.deciding(obj, "Ready", { on_false = "Degraded" })
