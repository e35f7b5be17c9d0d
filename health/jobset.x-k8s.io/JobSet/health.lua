-- SPDX-License-Identifier: Apache-2.0
-- Decided by Failed, Completed, Suspended, StartupPolicyInProgress and RestartingJobSet, each only when it is True,
-- then by the counters of the replicated jobs. Facts: jobset.x-k8s.io/v1alpha2; generations only in conditions.
local t = require("truce")

-- The first replicated job that has fewer jobs ready or done than it has replicas.
local function behind()
  local counts = {}
  for _, job in ipairs(t.table(t.status(obj).replicatedJobsStatus)) do
    counts[t.get(job, "name") or ""] = t.number(t.get(job, "ready"), 0) + t.number(t.get(job, "succeeded"), 0)
  end
  for _, job in ipairs(t.table(t.get(obj, "spec", "replicatedJobs"))) do
    local name = t.text(t.get(job, "name"), "?")
    local short = t.replicas(counts[name], t.number(t.get(job, "replicas"), 1), "ready")
    if short then
      return string.format("%s: %s", name, short)
    end
  end
  return nil
end

local restarts = t.number(t.status(obj).restarts, 0)
if t.is(obj, "Failed") then
  return t.degraded_for_good(t.says(t.condition(obj, "Failed")))
end
if t.is(obj, "Completed") then
  return t.healthy("completed")
end
local suspended = t.is(obj, "Suspended")
if suspended and t.get(obj, "spec", "suspend") ~= false then
  return t.suspended(t.says(t.condition(obj, "Suspended")))
end
if suspended or t.get(obj, "spec", "suspend") == true then
  return t.progressing(suspended and "resuming" or "suspending")
end
if t.is(obj, "RestartingJobSet") then
  return t.progressing(string.format("restarting (restart %s): %s", restarts, behind() or "jobs are made anew"))
end
local short = behind()
if t.is(obj, "StartupPolicyInProgress") then
  return t.progressing("starting in order: " .. (short or t.says(t.condition(obj, "StartupPolicyInProgress"))))
end
if short then
  return t.progressing(short)
end
if restarts > 0 then
  return t.healthy(string.format("restarted %s times", restarts))
end
return t.healthy()
