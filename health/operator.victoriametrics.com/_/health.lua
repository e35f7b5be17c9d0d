-- SPDX-License-Identifier: Apache-2.0
-- status.updateStatus decides, once status.observedGeneration has caught up. Scrape objects of kinds that the
-- operator gives no status have no health.
local t = require("truce")

local status = t.status(obj)
if obj.status == nil and t.text(obj.kind, ""):find("Scrape$") then
  return nil
end
local late = (status.observedGeneration ~= nil or next(status) == nil) and t.unobserved(obj)
if late then
  return late
end
local state = t.text(status.updateStatus) or t.text(status.clusterStatus, "waiting for the operator")
local reason = t.text(status.reason)
local says = reason and state .. ": " .. reason or state
if state == "operational" then
  return t.healthy()
end
if state == "failed" then
  return t.degraded(says)
end
if state == "paused" then
  return t.suspended("held by spec.paused")
end
return t.progressing(says)
