-- SPDX-License-Identifier: Apache-2.0
-- Ready decides, once status.observedGeneration has caught up: its reasons tell what is under way (Updating, a
-- dependency that is not ready yet) from errors. Config Connector's own settings say status.healthy.
local t = require("truce")

local status = t.status(obj)
if status.healthy ~= nil then
  if status.healthy == true then
    return t.healthy()
  end
  return t.degraded(t.text(t.table(status.errors)[1], "not healthy"))
end
local ready = t.condition(obj, "Ready")
if ready and ready.reason == "Unmanaged" then
  return t.suspended(t.says(ready))
end
return t.deciding(obj, "Ready", { on_false = "Degraded", observed = next(status) ~= nil,
  progressing = { "Updating", "Creating", "Deleting", "DependencyNotReady", "DependencyNotFound" } })
