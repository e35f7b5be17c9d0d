-- SPDX-License-Identifier: Apache-2.0
-- Snapshots of volumes: what is asked for, and what it is bound to. (Their class has no health.)
local t = require("truce")
local snapshot = {}

-- status.readyToUse decides; status.error is the last failure of what is tried again and again.
function snapshot.judge(obj)
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
end

return snapshot
