-- SPDX-License-Identifier: Apache-2.0
-- The conditions SpecError and SubmissionError tell that it cannot start anything. What its last run came to is that
-- Workflow's health, not this object's. Nothing scheduled yet is fine.
local t = require("truce")

local spec, status = t.table(obj.spec), t.status(obj)
for _, kind in ipairs({ "SpecError", "SubmissionError" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "True" then
    return t.degraded(kind .. ": " .. t.says(condition))
  end
end
if spec.suspend == true then
  return t.suspended("held by spec.suspend")
end
if status.phase == "Stopped" then
  return t.suspended("its stop strategy has ended it")
end
local active = #t.table(status.active)
return t.healthy(active > 0 and string.format("%s running", active) or nil)
