-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides; a machine that failed is not repaired, it is replaced. In phase Running the condition
-- Available (contract v1beta2; older: Ready, by its severity) says whether its node works. status.observedGeneration
-- moves on success only: it is read last.
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
local generation = t.get(obj, "metadata", "generation")
local condition = t.condition_in(modern or status.conditions, modern and "Available" or "Ready", generation)
local says = condition and flat(t.says(condition))
if phase ~= "Running" then
  return t.progressing(phase .. (says and condition.status ~= "True" and ", " .. says or ""))
end
if condition and condition.status == "False" and (modern or condition.severity == "Error") then
  return t.patience(condition.lastTransitionTime, 300, says)
end
if condition and condition.status ~= "True" then
  return t.progressing(says)
end
return t.unobserved(obj) or t.healthy()
