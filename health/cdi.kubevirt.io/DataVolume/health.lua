-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides. While an importer runs, Running=False with reason Error tells what it stumbles over; a volume
-- that waits for its first consumer waits for somebody to start one.
local t = require("truce")

local status = t.status(obj)
local phase = t.text(status.phase, "waiting for CDI")
local running = t.condition(obj, "Running")
if phase == "Succeeded" then
  return t.healthy()
end
if phase == "WaitForFirstConsumer" or phase == "PendingPopulation" then
  return t.suspended("waits for its first consumer")
end
if phase == "Paused" then
  return t.suspended("waits for its next checkpoint")
end
if phase == "Failed" then
  return t.degraded(running and t.text(running.message) and "Failed: " .. running.message or "Failed")
end
if running and running.status == "False" and running.reason == "Error" then
  return t.degraded(phase .. ", " .. t.says(running))
end
local progress = t.text(status.progress)
return t.progressing(phase .. (progress and progress ~= "N/A" and ", " .. progress or ""))
