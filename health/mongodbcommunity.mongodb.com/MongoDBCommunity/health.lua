-- SPDX-License-Identifier: Apache-2.0
-- status.phase decides; in phase Running the members that there are against those wanted.
local t = require("truce")

local status = t.status(obj)
local phase, message = t.text(status.phase, "waiting for the operator"), t.text(status.message)
local says = message and phase .. ": " .. message or phase
if phase == "Failed" then
  return t.degraded(says)
end
if phase ~= "Running" then
  return t.progressing(says)
end
local short = t.replicas(status.currentMongoDBMembers, t.get(obj, "spec", "members"), "members")
if short then
  return t.progressing(short)
end
local version = t.text(t.get(obj, "spec", "version"))
if version and t.text(status.version) and status.version ~= version then
  return t.progressing("version " .. status.version .. " runs, " .. version .. " is awaited")
end
return t.healthy()
