-- SPDX-License-Identifier: Apache-2.0
-- status.status is the state of the whole, status.componentStatus that of the parts.
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.status, "waiting for the operator")
local parts = {}
for _, name in ipairs(t.keys(status.componentStatus)) do
  local part = t.table(status.componentStatus)[name]
  local told = t.text(t.get(part, "status"), "?")
  if told ~= "HEALTHY" and told ~= "NONE" then
    parts[#parts + 1] = name .. " is " .. told .. (t.text(t.get(part, "error")) and " (" .. part.error .. ")" or "")
  end
end
local says = #parts > 0 and table.concat(parts, ", ") or t.text(status.message, state)

if state == "HEALTHY" then
  return t.healthy()
end
if state == "ERROR" then
  return t.degraded(says)
end
if state == "ACTION_REQUIRED" then
  return t.suspended("a person must act: " .. says)
end
return t.progressing(says)
