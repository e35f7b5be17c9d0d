-- SPDX-License-Identifier: Apache-2.0
-- status.phase, which Velero's own checks set again and again.
local t = require("truce")

local status = t.status(obj)
if status.phase == "Available" then
  return t.healthy()
end
if status.phase == "Unavailable" then
  return t.degraded(t.text(status.message, "Unavailable"))
end
return t.progressing("waiting for the first check of the location")
