-- SPDX-License-Identifier: Apache-2.0
-- Ready decides (older operators: PartiallyReady beside it); status.failedNamespaces says where it did not work.
local t = require("truce")

local status = t.status(obj)
local failed = {}
for _, item in ipairs(t.table(status.failedNamespaces)) do
  local namespace, reason = t.get(item, "namespace"), t.get(item, "reason")
  failed[#failed + 1] = string.format("%s (%s)", namespace or "?", reason or "no reason given")
end
if #failed > 0 then
  return t.degraded("failed in " .. table.concat(failed, ", "))
end
if t.is(obj, "PartiallyReady") then
  return t.degraded(t.says(t.condition(obj, "PartiallyReady")))
end
return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for the operator to find the namespaces" })
