-- SPDX-License-Identifier: Apache-2.0
-- Decided by status.allocation, the conditions of the devices, and reservedFor. Facts: resource.k8s.io/v1. What a
-- device has to say before pods may start stands in bindingConditions, what forbids it in bindingFailureConditions.
local t = require("truce")

local status = t.status(obj)
if type(status.allocation) ~= "table" then
  return t.progressing("not allocated: waiting for a pod that uses it, or for a device")
end

local function device_of(result)
  for _, device in ipairs(t.table(status.devices)) do
    if t.get(device, "driver") == result.driver and t.get(device, "pool") == result.pool
      and t.get(device, "device") == result.device then
      return device
    end
  end
  return nil
end

local function first(names, conditions, status_is)
  for _, name in ipairs(t.table(names)) do
    local c = t.condition_in(conditions, name)
    if (c ~= nil and c.status == "True") == status_is then
      return name, c
    end
  end
  return nil
end

local waits
for _, result in ipairs(t.table(t.get(status.allocation, "devices", "results"))) do
  result = t.table(result)
  local conditions = t.get(device_of(result), "conditions")
  local name = t.text(result.device, "?")
  local ready = t.condition_in(conditions, "Ready")
  if ready and ready.status == "False" then
    return t.degraded(string.format("device %s: %s", name, t.named(ready)))
  end
  local failed, c = first(result.bindingFailureConditions, conditions, true)
  if failed then
    return t.degraded(string.format("device %s: %s", name, t.named(c)))
  end
  local missing = first(result.bindingConditions, conditions, false)
  if missing then
    waits = waits or string.format("device %s: waiting for condition %s", name, missing)
  end
end
if waits then
  return t.progressing(waits)
end
local user = t.table(status.reservedFor)[1]
if user then
  return t.healthy(string.format("reserved for %s/%s", t.text(t.get(user, "resource"), "?"),
    t.text(t.get(user, "name"), "?")))
end
return t.healthy("allocated, used by nobody")
