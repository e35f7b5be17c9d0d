-- SPDX-License-Identifier: Apache-2.0
-- status.connectionState is how the catalog's server answers OLM.
local t = require("truce")

local status = t.status(obj)
local state = t.text(t.get(status, "connectionState", "lastObservedState"))
if state == "READY" then
  return t.healthy()
end
if state == "TRANSIENT_FAILURE" or state == "SHUTDOWN" then
  return t.degraded("connection to the catalog: " .. state)
end
return t.progressing(t.text(status.message) or state and "connection to the catalog: " .. state or "waiting for OLM")
