-- SPDX-License-Identifier: Apache-2.0
-- status.jobDeploymentStatus decides (Complete with a job that SUCCEEDED, Failed), status.jobStatus says how the job
-- fares. Only a terminal state is read of a generation that is behind: what is done is done.
local t = require("truce")

local status = t.status(obj)
local phase, job = t.text(status.jobDeploymentStatus, "waiting for the operator"), t.text(status.jobStatus)
local says = job and phase .. ", job is " .. job or phase
local message = t.text(status.message)
local why = t.text(status.reason, phase) .. (message and ": " .. message or job and ", job is " .. job or "")

if phase == "Failed" or phase == "ValidationFailed" then
  return t.degraded_for_good(why)
end
if phase == "Complete" then
  if job == "SUCCEEDED" then
    return t.healthy()
  end
  return t.degraded_for_good(why)
end
local late = t.unobserved(obj)
if late and status.observedGeneration ~= nil then
  return late
end
if phase == "Suspended" then
  return t.suspended("held by spec.suspend")
end
if phase == "Retrying" then
  return t.progressing(string.format("failed %s times, is tried again", t.number(status.failed, "some")))
end
return t.progressing(says)
