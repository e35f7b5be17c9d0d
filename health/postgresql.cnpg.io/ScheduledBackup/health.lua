-- SPDX-License-Identifier: Apache-2.0
-- It only starts backups, whose own health says what became of them.
local t = require("truce")

if t.get(obj, "spec", "suspend") == true then
  return t.suspended("held by spec.suspend")
end
local last = t.text(t.status(obj).lastScheduleTime)
return t.healthy(last and "last backup started at " .. last or "no backup started yet")
