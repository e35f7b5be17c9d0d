-- SPDX-License-Identifier: Apache-2.0
-- status.errorMessage names the last failure, status.provisioning.state says where the host stands. A host that is
-- detached or kept from the operator by annotation is Suspended.
local t = require("truce")

local status = t.status(obj)
local state = t.text(t.get(status, "provisioning", "state"), "waiting for the operator")
local failure, kind = t.text(status.errorMessage), t.text(status.errorType)
local paused = t.get(obj, "metadata", "annotations", "baremetalhost.metal3.io/paused") ~= nil
if paused or status.operationalStatus == "detached" then
  return t.suspended("left alone by the operator, " .. state)
end
if failure then
  return t.degraded((kind and kind .. ": " or "") .. failure)
end
if t.contains({ "available", "ready", "provisioned", "externally provisioned", "unmanaged" }, state) then
  return t.healthy(state)
end
return t.progressing(state)
