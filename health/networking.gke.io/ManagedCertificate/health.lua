-- SPDX-License-Identifier: Apache-2.0
-- status.certificateStatus decides. A domain that does not point here yet keeps it from being issued, which is tried
-- again.
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.certificateStatus, "waiting for the controller")
local wrong = {}
for _, domain in ipairs(t.table(status.domainStatus)) do
  local told = t.text(t.get(domain, "status"), "?")
  if told ~= "Active" and told ~= "Provisioning" then
    wrong[#wrong + 1] = t.text(t.get(domain, "domain"), "?") .. " is " .. told
  end
end
if state == "Active" then
  return t.healthy()
end
if #wrong > 0 or t.contains({ "ProvisioningFailed", "ProvisioningFailedPermanently", "RenewalFailed" }, state) then
  return t.degraded(#wrong > 0 and table.concat(wrong, ", ") or state)
end
return t.progressing(state)
