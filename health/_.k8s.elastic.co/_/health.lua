-- SPDX-License-Identifier: Apache-2.0
-- Kibana, APM Server, Beat, Agent, Logstash, Maps, Enterprise Search: status.health, the nodes that are available and
-- the association with Elasticsearch.
local t = require("truce")

local status = t.status(obj)
local late = t.unobserved(obj)
if late and (status.observedGeneration ~= nil or next(status) == nil) then
  return late
end
for _, field in ipairs({ "associationStatus", "elasticsearchAssociationStatus", "kibanaAssociationStatus" }) do
  local association = "the association with " .. (field:find("kibana") and "Kibana" or "Elasticsearch")
  if status[field] == "Failed" then
    return t.degraded(association .. " failed")
  end
  if status[field] == "Pending" then
    return t.progressing(association .. " is pending")
  end
end
local wanted = status.expectedNodes or t.get(obj, "spec", "count") or t.get(obj, "spec", "deployment", "replicas")
local short = t.replicas(status.availableNodes, wanted, "nodes available")
if status.health == "green" and not short then
  return t.healthy()
end
return t.progressing("health is " .. t.text(status.health, "unknown") .. (short and ", " .. short or ""))
