-- SPDX-License-Identifier: Apache-2.0
-- status.phase says how far it is, the condition Available (contract v1beta2; older: Ready, by its severity) whether
-- it works. While it is provisioned for the first time, not being available is no error. A paused cluster is
-- Suspended. status.observedGeneration moves on success only: it is read last.
local t = require("truce")
local cluster_api = require("cluster_api")

local flat = cluster_api.flat

local status = t.status(obj)
local phase = t.text(status.phase, "Pending")
local modern = cluster_api.conditions(obj)

local halted = cluster_api.halted(obj)
if halted then
  return halted
end
if modern then
  local available = t.condition_in(modern, "Available", t.get(obj, "metadata", "generation"))
  if not available or available.status == "Unknown" then
    return t.progressing(available and flat(t.says(available)) or phase .. ", waiting for condition Available")
  end
  if available.status == "False" then
    local says = flat(t.says(available))
    if phase == "Provisioned" then
      return t.patience(available.lastTransitionTime, 300, says)
    end
    return t.progressing(phase .. ", " .. says)
  end
  local rolling = t.condition_in(modern, "RollingOut")
  if rolling and rolling.status == "True" then
    return t.progressing(flat(t.says(rolling)))
  end
  return t.unobserved(obj) or t.healthy()
end

local ready = t.condition(obj, "Ready")
if ready and ready.status == "False" and ready.severity == "Error" then
  return t.degraded(t.says(ready))
end
if not ready or ready.status ~= "True" then
  return t.progressing(phase .. (ready and ", " .. t.says(ready) or ""))
end
return t.unobserved(obj) or t.healthy()
