-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides: Failed means that its reclamation failed. Released is how a volume waits for a person who
-- reclaims it.
local t = require("truce")

local status = t.status(obj)
local phase, message = t.text(status.phase, "Pending"), t.text(status.message)
if phase == "Failed" then
  return t.degraded_for_good(message or t.text(status.reason, "Failed"))
end
if phase == "Bound" or phase == "Available" then
  return t.healthy()
end
if phase == "Released" then
  return t.healthy("released, not reclaimed")
end
return t.progressing(message or phase)
