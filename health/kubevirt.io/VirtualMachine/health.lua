-- SPDX-License-Identifier: Apache-2.0
-- status.printableStatus decides. status.observedGeneration is that of the machine's last start, which a change that
-- takes a restart leaves behind: it says nothing here. A machine that is stopped because it shall be, or whose start
-- is left to people, is Suspended.
local t = require("truce")

local spec, status = t.table(obj.spec), t.status(obj)
local state = t.text(status.printableStatus, "waiting for KubeVirt")
if state == "Running" then
  local ready = t.condition(obj, "Ready")
  if ready and ready.status ~= "True" then
    return t.progressing("Running, " .. t.says(ready))
  end
  if t.is(obj, "RestartRequired") then
    return t.healthy("Running, what was changed takes a restart")
  end
  return t.healthy()
end
if state == "Paused" then
  return t.suspended("paused")
end
if state == "Stopped" then
  local strategy = t.text(spec.runStrategy, spec.running == false and "Halted" or "Always")
  if strategy == "Halted" or strategy == "Manual" then
    return t.suspended("stopped (run strategy " .. strategy .. ")")
  end
  if strategy == "RerunOnFailure" or strategy == "Once" then
    return t.healthy("has ended (run strategy " .. strategy .. ")")
  end
  return t.progressing("Stopped, is to be started")
end
local failure = t.condition(obj, "Failure")
if failure and failure.status == "True" then
  return t.degraded(t.says(failure))
end
if t.contains({ "CrashLoopBackOff", "DataVolumeError", "ErrImagePull", "ErrorPvcNotFound", "ErrorDataVolumeNotFound",
  "ErrorUnschedulable", "ImagePullBackOff" }, state) then
  local ready = t.condition(obj, "Ready")
  local why = ready and ready.status == "False" and t.text(ready.message)
  return t.degraded(why and state .. ": " .. why or state)
end
return t.progressing(state)
