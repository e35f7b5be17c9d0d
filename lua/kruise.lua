-- SPDX-License-Identifier: Apache-2.0
-- OpenKruise: the rollout of its DaemonSets and StatefulSets, which a partition bounds and a pause holds.
local t = require("truce")
local kruise = {}

-- What the rollout waits for, or nil; and how many pods it is to update. wanted, updated: how many there should be, and
-- how many of them are of the new revision.
function kruise.rolling(obj, wanted, updated)
  local strategy = t.table(t.get(obj, "spec", "updateStrategy"))
  local rolling = t.table(strategy.rollingUpdate)
  local updates = math.max(wanted - t.number(rolling.partition, 0), 0)
  local short = strategy.type ~= "OnDelete" and t.replicas(updated, updates, "updated")
  if short and rolling.paused == true then
    return t.suspended("the update is paused, " .. short), updates
  end
  if short then
    return t.progressing(short), updates
  end
  return nil, updates
end

return kruise
