-- SPDX-License-Identifier: Apache-2.0
-- Valid decides, with its own observedGeneration; an orphaned proxy is included by none and serves nothing.
local t = require("truce")

local status = t.status(obj)
local valid = t.condition(obj, "Valid")
local problem = valid and t.table(valid.errors)[1]
if valid and valid.status == "False" then
  local says = problem and t.says(problem) or t.text(status.description, t.says(valid))
  return t.degraded(t.text(status.currentStatus, "invalid") .. ": " .. says)
end
return t.deciding(obj, "Valid", { waiting = "waiting for Contour" })
