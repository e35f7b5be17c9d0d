-- SPDX-License-Identifier: Apache-2.0
-- Decided by Stopped, modelStatus and Ready. Facts: serving.kserve.io/v1beta1. status.observedGeneration is copied
-- from a child and says nothing about this object. transitionStatus InProgress is permanent where scale-to-zero
-- serves well, so a True Ready is enough.
local t = require("truce")

local FAILED = { "ModelLoadFailed", "RuntimeUnhealthy", "RuntimeDisabled", "NoSupportingRuntime",
  "RuntimeNotRecognized", "InvalidPredictorSpec", "InvalidGPUAllocation", "RevisionFailed", "ProgressDeadlineExceeded" }

-- The part of Ready with that status that says most: one a reason that is a failure, else any reason, else the first.
local function part(status)
  local best, best_rank = nil, 0
  for _, c in ipairs(t.table(t.status(obj).conditions)) do
    if t.get(c, "status") == status and c.severity ~= "Info" and c.type ~= "Ready" and c.type ~= "Stopped" then
      local rank = t.contains(FAILED, c.reason) and 3 or t.text(c.reason) and 2 or 1
      if rank > best_rank then
        best, best_rank = c, rank
      end
    end
  end
  return best
end

local ready = t.condition(obj, "Ready")
if not ready then
  return t.progressing("waiting for condition Ready")
end
local stop = t.annotation(obj, "serving.kserve.io/stop")
local stopping = stop ~= nil and string.lower(stop) == "true"
if stopping and t.is(obj, "Stopped") then
  return t.suspended("stopped by annotation serving.kserve.io/stop")
end
if stopping or t.is(obj, "Stopped") then
  return t.progressing(stopping and "stopping" or "starting again after a stop")
end

local model = t.table(t.status(obj).modelStatus)
local failure = t.table(model.lastFailureInfo)
local why = t.says({ type = "model", status = "failed", reason = failure.reason, message = failure.message })
if model.transitionStatus == "InvalidSpec" then
  return t.degraded_for_good("InvalidSpec: " .. why)
end
if model.transitionStatus == "BlockedByFailedLoad" then
  return t.degraded(why .. (ready.status == "True" and "; the model before keeps serving" or ""))
end
if ready.status == "True" then
  return t.healthy()
end
local blamed = part("False")
if ready.status == "False" then
  if blamed and t.contains(FAILED, blamed.reason) then
    return t.degraded(t.named(blamed))
  end
  if t.contains(FAILED, failure.reason) or t.contains(FAILED, ready.reason) then
    return t.degraded(t.contains(FAILED, ready.reason) and t.named(ready) or why)
  end
end
return t.progressing(t.named(blamed or part("Unknown") or ready))
