-- SPDX-License-Identifier: Apache-2.0
-- status.phase says what the operator does, status.health what Elasticsearch says. One node alone can never be green:
-- replicas have no place.
local t = require("truce")

local status = t.status(obj)
local phase, health = t.text(status.phase, "waiting for the operator"), t.text(status.health, "unknown")
if phase == "Invalid" then
  return t.degraded_for_good("the resource is invalid, see its events")
end
local late = t.unobserved(obj)
if late and (status.observedGeneration ~= nil or next(status) == nil) then
  return late
end
if health == "red" then
  return t.degraded("health is red, primary shards are missing")
end
if phase == "NodeShutdownStalled" then
  return t.degraded("a node cannot be shut down: its shards cannot move")
end
if phase ~= "Ready" then
  return t.progressing(phase .. ", health is " .. health)
end
local wanted = 0
for _, set in ipairs(t.table(t.get(obj, "spec", "nodeSets"))) do
  wanted = wanted + t.number(t.get(set, "count"), 0)
end
local short = t.replicas(status.availableNodes, wanted, "nodes available")
if health == "green" then
  return short and t.progressing(short) or t.healthy()
end
if health == "yellow" and wanted == 1 then
  return t.healthy("health is yellow, as it is with one node")
end
return t.progressing("health is " .. health .. (short and ", " .. short or ""))
