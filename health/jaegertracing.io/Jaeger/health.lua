-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides.
local t = require("truce")

local phase = t.text(t.status(obj).phase)
if phase == "Running" then
  return t.healthy()
end
if phase == "Failed" then
  return t.degraded("Failed: see the operator's log")
end
return t.progressing(phase or "waiting for the operator")
