-- SPDX-License-Identifier: Apache-2.0
-- Decided by Finished, the reasons that end waiting for good, spec.active, QuotaReserved, Admitted and PodsReady.
-- Facts: kueue.x-k8s.io/v1beta2 and v1beta1. PodsReady is published only where the controller waits for it.
local t = require("truce")

local HOPELESS = { "ExceedsMaxQuota", "NoMatchingFlavor", "Misconfigured" }
local FAILED = { "Failed", "AdmissionChecksRejected", "JobFailed" }
local PODS_READY_S = 60

-- Names of the admission checks that are not ready.
local function checks()
  local names = {}
  for _, check in ipairs(t.table(t.status(obj).admissionChecks)) do
    if t.get(check, "state") ~= "Ready" then
      names[#names + 1] = t.text(t.get(check, "name"), "?")
    end
  end
  return table.concat(names, ", ")
end

local finished = t.condition(obj, "Finished")
if finished and finished.status == "True" then
  if t.contains(FAILED, finished.reason) then
    return t.degraded_for_good(t.says(finished))
  end
  return t.healthy("finished: " .. t.says(finished))
end
local requeued, evicted = t.condition(obj, "Requeued"), t.condition(obj, "Evicted")
for _, c in ipairs({ t.condition(obj, "DeactivationTarget") or {}, requeued or {}, evicted or {} }) do
  local reason = t.text(c.reason, "")
  if c.type == "DeactivationTarget" and c.status == "True" or reason:find("RequeuingLimitExceeded", 1, true)
    or reason:find("^DeactivatedDueTo") then
    return t.degraded(t.named(c))
  end
end
if t.get(obj, "spec", "active") == false then
  return t.suspended("spec.active is false")
end
local quota = t.condition(obj, "QuotaReserved")
if not quota then
  return t.progressing("waiting to be queued")
end
if quota.status ~= "True" then
  if t.contains(HOPELESS, quota.reason) then
    return t.degraded(t.says(quota))
  end
  if evicted and evicted.status == "True" then
    return t.progressing("evicted, " .. t.says(evicted))
  end
  return t.progressing("waiting for quota: " .. t.says(quota))
end
local admitted = t.condition(obj, "Admitted")
if not admitted or admitted.status ~= "True" then
  return t.progressing("quota is reserved, waiting for admission checks " .. checks())
end
local ready = t.condition(obj, "PodsReady")
if ready and ready.status ~= "True" then
  return t.progressing("admitted, " .. t.named(ready))
end
local age = t.age(admitted.lastTransitionTime)
if not ready and age and age < PODS_READY_S then
  return t.again(t.progressing("admitted, waiting for condition PodsReady"), PODS_READY_S - age)
end
return t.healthy(not ready and "admitted; readiness of its pods is not published" or nil)
