-- SPDX-License-Identifier: Apache-2.0
-- Conditions name what is wrong (they are only there while it is); then status.state. An install plan that waits for
-- approval waits for a person. An update that is to be had, but not approved, is no fault.
local t = require("truce")

local status = t.status(obj)
for _, kind in ipairs({ "ResolutionFailed", "BundleUnpackFailed", "InstallPlanFailed", "CatalogSourcesUnhealthy" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "True" then
    return t.degraded(kind .. ": " .. t.says(condition))
  end
end
local state = t.text(status.state)
local pending = t.condition(obj, "InstallPlanPending")
if pending and pending.status == "True" and pending.reason == "RequiresApproval" then
  local installed = t.text(status.installedCSV)
  local says = "an install plan for " .. t.text(status.currentCSV, "the operator") .. " waits for approval"
  if installed then
    return t.healthy(says)
  end
  return t.suspended(says)
end
if state == "UpgradeFailed" then
  return t.degraded("UpgradeFailed: " .. t.text(status.currentCSV, "?"))
end
if state == "AtLatestKnown" then
  return t.healthy(t.text(status.installedCSV))
end
if state == "UpgradeAvailable" then
  return t.healthy(t.text(status.installedCSV, "?") .. ", an upgrade is available")
end
return t.progressing(state and state .. ": " .. t.text(status.currentCSV, "?") or "waiting for OLM to resolve it")
