-- SPDX-License-Identifier: Apache-2.0
-- status.state decides, status.reason says why; the counters are those of leaders and followers.
local t = require("truce")

local status = t.status(obj)
local state, reason = t.text(status.state, "waiting for the operator"), t.text(status.reason)
local says = reason and state .. ": " .. reason or state
if state == "Failed" then
  return t.degraded(says)
end
if state ~= "Ready" then
  return t.progressing(says)
end
local spec = t.table(obj.spec)
local leaders = t.get(spec, "redisLeader", "replicas") or spec.clusterSize
local followers = t.get(spec, "redisFollower", "replicas") or spec.clusterSize
local short = t.replicas(status.readyLeaderReplicas, leaders, "leaders ready")
  or t.replicas(status.readyFollowerReplicas, followers, "followers ready")
if short then
  return t.progressing(short)
end
return t.healthy()
