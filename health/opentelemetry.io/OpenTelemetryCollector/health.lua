-- SPDX-License-Identifier: Apache-2.0
-- There are no conditions: status.version tells that the operator has been here, status.scale.statusReplicas ("2/3")
-- counts pods. Sidecars run in other pods.
local t = require("truce")

local status = t.status(obj)
if t.get(obj, "spec", "managementState") == "unmanaged" then
  return t.suspended("not managed by the operator")
end
if not t.text(status.version) then
  return t.progressing("waiting for the operator")
end
if t.get(obj, "spec", "mode") == "sidecar" then
  return t.healthy()
end
local ready, wanted = t.text(t.get(status, "scale", "statusReplicas"), ""):match("^(%d+)/(%d+)$")
local short = t.replicas(ready, wanted, "ready")
if short then
  return t.progressing(short)
end
return t.healthy()
