-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides; in phase Running the conditions Paused and Ready.
local t = require("truce")

local phase = t.text(t.status(obj).phase, "waiting for KubeVirt")
local ready, synchronized = t.condition(obj, "Ready"), t.condition(obj, "Synchronized")
if phase == "Succeeded" then
  return t.healthy("has ended")
end
if phase == "Failed" then
  return t.degraded_for_good(synchronized and synchronized.status == "False" and t.says(synchronized) or "Failed")
end
if t.is(obj, "Paused") then
  return t.suspended(t.says(t.condition(obj, "Paused")))
end
if synchronized and synchronized.status == "False" then
  return t.degraded(t.says(synchronized))
end
if phase == "Running" and ready and ready.status == "True" then
  return t.healthy()
end
return t.progressing(phase .. (ready and ready.status == "False" and ", " .. t.says(ready) or ""))
