-- SPDX-License-Identifier: Apache-2.0
-- The Prometheus operator: the kinds that it makes pods of.
local t = require("truce")
local prometheus_operator = {}

-- Reconciled=False is an error of the resource. Available is True, Degraded or False: while pods are replaced it is
-- not True either, so that it is an error only when that lasts for more than 10 minutes.
function prometheus_operator.workload(obj)
  if t.get(obj, "spec", "paused") == true then
    return t.suspended("held by spec.paused")
  end
  local reconciled, available = t.condition(obj, "Reconciled"), t.condition(obj, "Available")
  if reconciled and reconciled.status == "False" then
    return t.degraded(t.says(reconciled))
  end
  if not reconciled or reconciled.status ~= "True" then
    return t.progressing(reconciled and t.says(reconciled) or "waiting for condition Reconciled")
  end
  if not available or available.status == "Unknown" then
    return t.progressing(available and t.says(available) or "waiting for condition Available")
  end
  if available.status ~= "True" then
    return t.patience(available.lastTransitionTime, 600, t.says(available))
  end
  local status = t.status(obj)
  local short = t.replicas(status.updatedReplicas, status.replicas, "updated")
  if short then
    return t.progressing(short)
  end
  return t.healthy()
end

return prometheus_operator
