-- SPDX-License-Identifier: Apache-2.0
-- Ready and UpgradeInProgress decide (older operators: status.serviceStatus), after what Ray Serve says of the
-- applications of the cluster in use and of the one that is to follow it.
local t = require("truce")

local status = t.status(obj)
local late = t.unobserved(obj)
if late then
  return late
end
for _, which in ipairs({ "activeServiceStatus", "pendingServiceStatus" }) do
  local applications = t.get(status, which, "applicationStatuses")
  for _, name in ipairs(t.keys(applications)) do
    local state, message = t.get(applications[name], "status"), t.text(t.get(applications[name], "message"))
    if state == "DEPLOY_FAILED" or state == "UNHEALTHY" then
      local first_line = message and ": " .. message:match("^[^\n]*") or ""
      return t.degraded("application " .. name .. " is " .. state .. first_line)
    end
  end
end

local ready, upgrade = t.condition(obj, "Ready"), t.condition(obj, "UpgradeInProgress")
local endpoints = t.number(status.numServeEndpoints or status.NumServeEndpoints)
if upgrade and upgrade.status == "True" then
  return t.progressing("upgrade under way: " .. t.says(upgrade))
end
if ready then
  return t.deciding(obj, "Ready", { for_good = { "InitializingTimeout" },
    healthy = endpoints and string.format("%s serve endpoints", endpoints) or nil })
end
local state = t.text(status.serviceStatus, "waiting for condition Ready")
if state == "Running" then
  return t.healthy()
end
if state:find("^Failed") then
  return t.degraded(state)
end
return t.progressing(state)
