-- SPDX-License-Identifier: Apache-2.0
-- status.readyToUse decides; status.error is the last failure of what is tried again and again.
local t = require("truce")

local status = t.status(obj)
if status.readyToUse == true then
  return t.healthy()
end
local message = t.text(t.get(status, "error", "message"))
if message then
  return t.degraded(message)
end
if status.readyToUse == false then
  return t.progressing("the snapshot is being taken")
end
return t.progressing("waiting for the snapshot controller")
