-- SPDX-License-Identifier: Apache-2.0
-- Decided by the phase (v1beta1) or state (v1alpha1); the conditions give the words. Facts: nvidia.com. A phase Ready
-- means that the deployment is generated and, without autoApply, waits for a person; a state Ready that it runs.
local t = require("truce")

local STEPS = { "Validation", "Profiling", "SpecGenerated", "DeploymentReady", "Succeeded" }

-- The first step that is not done.
local function step()
  for _, kind in ipairs(STEPS) do
    local c = t.condition(obj, kind)
    if c and c.status ~= "True" then
      return c
    end
  end
  return nil
end

local status = t.status(obj)
if status.observedGeneration ~= nil and t.stale(obj) then
  return t.unobserved(obj)
end
local phase = t.text(status.phase) or t.text(status.state)
local at = step()
if phase == "Failed" then
  return t.degraded_for_good(at and t.named(at) or "failed")
end
if phase == "DeploymentDeleted" then
  return t.suspended("its deployment was deleted and is not made again")
end
if phase == "Deployed" or status.state == "Ready" then
  local name = t.text(status.dgdName) or t.text(t.get(status, "deployment", "name"))
  return t.healthy("deployed as " .. (name or "a DynamoGraphDeployment"))
end
if phase == "Ready" and t.get(obj, "spec", "autoApply") ~= true then
  return t.healthy("the deployment is generated, to be applied by a person")
end
local sub = t.text(status.profilingPhase)
if phase == "Profiling" and sub then
  return t.progressing("profiling: " .. sub)
end
if at then
  return t.progressing(t.named(at))
end
return t.progressing(phase or "waiting for its controller: there is no status yet")
