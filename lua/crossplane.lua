-- SPDX-License-Identifier: Apache-2.0
-- Crossplane: its managed resources, claims and composites, whoever their provider is, and its packages.
local t = require("truce")
local crossplane = {}

-- Kinds that only configure.
local settings = {
  "ClusterProviderConfig", "ClusterProviderConfigUsage", "Composition", "CompositionRevision", "ControllerConfig",
  "DeploymentRuntimeConfig", "EnvironmentConfig", "ImageConfig", "ProviderConfig", "ProviderConfigUsage", "StoreConfig",
}

-- Managed resources, claims and composites: Synced=False is an error (or a pause), Ready=False is Creating or the
-- like, or Unavailable. LastAsyncOperation=False: the provider's call failed although it is Synced. Kinds that only
-- configure have no conditions.
function crossplane.resource(obj)
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
end

-- Installed, then Healthy decide. They carry no generation: a package that is named but not yet taken up is told from
-- status.currentIdentifier (an ImageConfig may have rewritten it). Unpacking without a message is under way.
function crossplane.package(obj)
  local status, package = t.status(obj), t.text(t.get(obj, "spec", "package"))
  local current, resolved = t.text(status.currentIdentifier), t.text(status.resolvedPackage)
  local installed = t.condition(obj, "Installed")

  if installed and installed.status == "False" then
    if installed.reason == "InactivePackageRevision" then
      return t.suspended(t.says(installed) .. " (waiting for somebody to activate the revision)")
    end
    if installed.reason == "UnpackingPackage" and not t.text(installed.message) then
      return t.progressing(t.says(installed))
    end
    return t.degraded(t.says(installed))
  end
  if not installed or installed.status ~= "True" then
    return t.progressing(installed and t.says(installed) or "waiting for condition Installed")
  end
  if package and current and current ~= package and current ~= resolved then
    return t.progressing("waiting for " .. package .. ", " .. current .. " is installed")
  end
  return t.deciding(obj, "Healthy", { on_false = "Degraded" })
end

return crossplane
