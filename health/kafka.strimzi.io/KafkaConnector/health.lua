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
local status = t.status(obj)
local found = status.connectorStatus and strimzi.connector("connector", status.connectorStatus)
if found then
  return found
end
return t.deciding(obj, "Ready", { on_false = "Degraded" })
