-- SPDX-License-Identifier: Apache-2.0
-- status.PostgresClusterStatus decides. Newer operators also publish the generation that they have seen.
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.PostgresClusterStatus, "waiting for the operator")
if t.contains({ "CreateFailed", "UpdateFailed", "SyncFailed", "Invalid" }, state) then
  return t.degraded(state)
end
if status.observedGeneration ~= nil and t.stale(obj) then
  return t.unobserved(obj)
end
if state == "Running" then
  return t.healthy()
end
return t.progressing(state)
