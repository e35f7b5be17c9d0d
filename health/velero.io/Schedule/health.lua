-- SPDX-License-Identifier: Apache-2.0
-- status.phase says whether the schedule is valid; the backups' own health says what became of them.
local t = require("truce")

local status = t.status(obj)
if status.phase == "FailedValidation" then
  local first = t.text(t.table(status.validationErrors)[1], "no reason given")
  return t.degraded_for_good("FailedValidation: " .. first)
end
if t.get(obj, "spec", "paused") == true then
  return t.suspended("held by spec.paused")
end
if status.phase == "Enabled" then
  local last = t.text(status.lastBackup)
  return t.healthy(last and "last backup started at " .. last or "no backup started yet")
end
return t.progressing("waiting for Velero to check the schedule")
