-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides, status.reason and message explain it.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(status.phase, "waiting for OLM")
local detail = t.says({ reason = status.reason, message = status.message, type = "phase", status = phase })
if phase == "Succeeded" then
  return t.healthy()
end
if phase == "Failed" then
  return t.degraded(detail)
end
return t.progressing(phase .. (t.text(status.message) and ", " .. detail or ""))
