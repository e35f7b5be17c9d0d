-- SPDX-License-Identifier: Apache-2.0
-- The GPU operator's settings: status.state decides, the conditions Ready and Error explain it.
local t = require("truce")

local state = t.text(t.status(obj).state, "waiting for the operator")
local failure = t.condition(obj, "Error")
if state == "ready" then
  return t.healthy()
end
if state == "ignored" or state == "disabled" then
  return t.healthy(state)
end
if failure and failure.status == "True" and failure.reason ~= "OperandNotReady" then
  return t.degraded(t.says(failure))
end
local ready = t.condition(obj, "Ready")
local why = ready and ready.status ~= "True" and t.text(ready.message)
return t.progressing(state .. (why and ": " .. why or ""))
