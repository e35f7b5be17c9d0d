-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. A backup is made once: completed and failed are its ends.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(status.phase, "not started")
local says = t.text(status.error) and phase .. ": " .. status.error or phase

if phase == "completed" then
  return t.healthy()
end
if phase == "failed" then
  return t.degraded_for_good(says)
end
if phase == "walArchivingFailing" then
  return t.degraded(says)
end
return t.progressing(says)
