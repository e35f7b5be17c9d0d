-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. A plan runs once; one that needs approval waits for a person.
local t = require("truce")

local phase = t.text(t.status(obj).phase, "waiting for OLM")
if phase == "Complete" then
  return t.healthy()
end
if phase == "RequiresApproval" then
  return t.suspended("waits for approval")
end
if phase == "Failed" then
  local installed = t.condition(obj, "Installed")
  return t.degraded_for_good(installed and t.says(installed) or phase)
end
return t.progressing(phase)
