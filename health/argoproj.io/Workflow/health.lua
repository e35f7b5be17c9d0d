-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. It runs once: Failed and Error are its end. A workflow that spec.suspend holds is Suspended.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(status.phase, "Pending")
local message = t.text(status.message)

if phase == "Succeeded" then
  return t.healthy(message)
end
if phase == "Failed" or phase == "Error" then
  return t.degraded_for_good(message and phase .. ": " .. message or phase)
end
if t.get(obj, "spec", "suspend") == true then
  return t.suspended("held by spec.suspend")
end
for _, id in ipairs(t.keys(status.nodes)) do
  local node = t.table(status.nodes)[id]
  if t.get(node, "type") == "Suspend" and t.get(node, "phase") == "Running" then
    return t.progressing("waits at step " .. t.text(node.displayName, id) .. " for somebody to go on")
  end
end
local progress = t.text(status.progress)
return t.progressing(message or phase .. (progress and ", steps done: " .. progress or ""))
