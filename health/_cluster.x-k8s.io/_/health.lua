-- SPDX-License-Identifier: Apache-2.0
-- What has spec.replicas (MachineDeployment, MachineSet, MachinePool, control planes) is judged by its counters
-- first. Then, as for the kinds of infrastructure and bootstrap providers: Available (contract v1beta2) or Ready,
-- where the older contract's severity tells errors from waiting. Templates, classes and identities have no health.
local t = require("truce")
local cluster_api = require("cluster_api")

local status, metadata = t.status(obj), t.table(obj.metadata)
local wanted = t.number(t.get(obj, "spec", "replicas"))
local modern = cluster_api.conditions(obj)

local function says(condition)
  return cluster_api.flat(t.says(condition))
end

-- The first of the counters that is not as wanted, in words.
local function counted()
  local strategy = t.get(obj, "spec", "rollout", "strategy", "type") or t.get(obj, "spec", "strategy", "type")
  local replicas = t.number(status.replicas, 0)
  local up_to_date = status.upToDateReplicas or status.updatedReplicas or replicas
  if replicas > wanted then
    return string.format("%s of %s replicas are to go", replicas - wanted, replicas)
  end
  return t.replicas(replicas, wanted, "created")
    or (strategy ~= "OnDelete" and t.replicas(up_to_date, wanted, "up to date"))
    or t.replicas(status.readyReplicas, wanted, "ready")
end

-- Without status: what a provider has not seen yet, if it is no template; elsewhere nothing that could be unhealthy.
if obj.status == nil and not wanted then
  local version, kind = t.text(obj.apiVersion, ""), t.text(obj.kind, "")
  local provider = version:find("^infrastructure%.") or version:find("^bootstrap%.")
  if not provider or kind:find("Template$") or kind:find("Class$") or kind:find("Identity$") then
    return nil
  end
end
if cluster_api.paused(obj) then
  return t.suspended("paused")
end
local failure = cluster_api.failure(obj)
if failure then
  return t.degraded_for_good(failure)
end

local decides = t.condition_in(modern, "Available", metadata.generation)
  or t.condition_in(modern or status.conditions, "Ready", metadata.generation)
  or t.condition_in(modern or status.conditions, "ResourcesApplied", metadata.generation)
  or t.condition_in(modern or status.conditions, "Discovered", metadata.generation)
if decides and decides.status == "False" and decides.severity == "Error" then
  return t.degraded(says(decides))
end
local short = wanted and counted()
if short and decides and decides.status == "False" and modern then
  return t.patience(decides.lastTransitionTime, 1800, short .. ", " .. says(decides))
end
if short then
  return t.progressing(short)
end
if decides and decides.status ~= "True" then
  return t.progressing(says(decides))
end
if obj.status == nil or next(status) == nil then
  return t.progressing("waiting for its controller")
end
-- It moves on success only: errors come before it.
local late = (wanted or status.observedGeneration ~= nil) and t.unobserved(obj)
if late then
  return late
end
return t.healthy()
