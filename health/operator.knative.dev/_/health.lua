-- SPDX-License-Identifier: Apache-2.0
-- Decided by InstallSucceeded, VersionMigrationEligible and Ready, which is False while deployments come up. Facts:
-- KnativeServing and KnativeEventing of operator.knative.dev/v1beta1.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
for _, kind in ipairs({ "InstallSucceeded", "VersionMigrationEligible" }) do
  if t.is(obj, kind, "False") then
    return t.degraded(t.named(t.condition(obj, kind)))
  end
end
local version = t.text(t.status(obj).version)
return t.deciding(obj, "Ready", { healthy = version and "version " .. version })
