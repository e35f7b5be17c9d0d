-- SPDX-License-Identifier: Apache-2.0
-- Decided by the last operation and by status.health; OutOfSync alone is no fault. Facts: argoproj.io/v1alpha1; no
-- generation is published. A failed operation of another revision than the one that is in sync is history.
local t = require("truce")

local status = t.status(obj)
local operation = t.table(status.operationState)
local health, says = t.text(t.get(status, "health", "status")), t.text(t.get(status, "health", "message"))
local synced = t.get(status, "sync", "status") == "Synced"

-- What its conditions have against it.
local function errors()
  local found = {}
  for _, c in ipairs(t.table(status.conditions)) do
    if t.text(t.get(c, "type"), ""):find("Error$") then
      found[#found + 1] = string.format("%s: %s", c.type, t.text(t.get(c, "message"), "?"))
    end
  end
  return found[1] and table.concat(found, "; ")
end

local past = synced and t.get(status, "sync", "revision") ~= t.get(operation, "syncResult", "revision")
if (operation.phase == "Failed" or operation.phase == "Error") and not past then
  return t.degraded(string.format("sync %s: %s", operation.phase, t.text(operation.message, "no message")))
end
if health == "Degraded" then
  return t.degraded(says or "its resources are degraded")
end
if operation.phase == "Running" or operation.phase == "Terminating" or t.get(obj, "operation") then
  return t.progressing("sync is running: " .. t.text(operation.message, "no message"))
end
if health == "Progressing" then
  return t.progressing(says or "its resources are progressing")
end
if health == "Suspended" then
  return t.suspended(says or "its resources are suspended")
end
if health == "Healthy" then
  return t.healthy(not synced and "OutOfSync" or nil)
end
if health == "Missing" then
  return { status = "Missing", message = says or "its resources are missing" }
end
if health then
  return { status = "Unknown", message = errors() or says or "health is " .. health }
end
return t.progressing(errors() or "waiting for its controller: there is no health yet")
