-- SPDX-License-Identifier: Apache-2.0
-- Cluster API: where the kinds of its core and of its providers keep what every one of them says.
local t = require("truce")
local cluster_api = {}

-- The conditions of contract v1beta2: at the top in that version, beside the old ones in the versions before it. nil:
-- there are only those of the older contract.
function cluster_api.conditions(obj)
  local status = t.status(obj)
  local modern = t.get(status, "v1beta2", "conditions")
  if not modern and t.text(obj.apiVersion, ""):find("/v1beta2$") then
    modern = status.conditions
  end
  return modern
end

-- Why it failed for good, in the words of the older contract, or nil.
function cluster_api.failure(obj)
  local status = t.status(obj)
  return t.text(status.failureMessage) or t.text(t.get(status, "deprecated", "v1beta1", "failureMessage"))
end

-- Whether its controllers are told to leave it alone.
function cluster_api.paused(obj)
  return t.get(obj, "metadata", "annotations", "cluster.x-k8s.io/paused") ~= nil or t.get(obj, "spec", "paused") == true
end

-- A message, which may be a list of several lines, as one line.
function cluster_api.flat(text)
  return (text:gsub("%s*\n%s*", " "))
end

-- Of what has a phase: Suspended when it is paused, Degraded for good when it failed, else nil.
function cluster_api.halted(obj)
  if cluster_api.paused(obj) then
    return t.suspended("paused")
  end
  local failure = cluster_api.failure(obj)
  if failure or t.status(obj).phase == "Failed" then
    return t.degraded_for_good(cluster_api.flat(failure or "Failed"))
  end
  return nil
end

return cluster_api
