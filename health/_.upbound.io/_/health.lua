-- SPDX-License-Identifier: Apache-2.0
-- Managed resources, claims and composites: Synced=False is an error (or a pause), Ready=False is Creating or the
-- like, or Unavailable. LastAsyncOperation=False: the provider's call failed although it is Synced. Kinds that only
-- configure have no conditions.
local t = require("truce")

local settings = {
  "ClusterProviderConfig", "ClusterProviderConfigUsage", "Composition", "CompositionRevision", "ControllerConfig",
  "DeploymentRuntimeConfig", "EnvironmentConfig", "ImageConfig", "ProviderConfig", "ProviderConfigUsage", "StoreConfig",
}
if t.contains(settings, obj.kind) and #t.table(t.status(obj).conditions) == 0 then
  return t.healthy()
end

local synced = t.condition(obj, "Synced")
if synced and synced.status == "False" then
  if synced.reason == "ReconcilePaused" then
    return t.suspended(t.says(synced))
  end
  return t.degraded(t.says(synced))
end
local call = t.condition(obj, "LastAsyncOperation")
if call and call.status == "False" then
  return t.degraded(t.says(call))
end
if synced and synced.status ~= "True" then
  return t.progressing(t.says(synced))
end

-- What is no resource has a condition of its own instead: package revisions, operations, definitions.
local decides = "Ready"
for _, kind in ipairs({ "Established", "RevisionHealthy", "Healthy", "Succeeded", "Scheduling", "Watching" }) do
  if not t.condition(obj, "Ready") and t.condition(obj, kind) then
    decides = kind
    break
  end
end
return t.deciding(obj, decides, { degraded = { "Unavailable", "UnhealthyPackageRevision", "PipelineError" } })
