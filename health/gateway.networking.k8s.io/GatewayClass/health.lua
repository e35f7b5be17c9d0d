-- SPDX-License-Identifier: Apache-2.0
-- Accepted decides: False means that no controller serves the class as it is written. SupportedVersion=False alone is
-- a warning about the installed definitions.
local t = require("truce")

local supported = t.condition(obj, "SupportedVersion")
local warning = supported and supported.status == "False" and t.says(supported) or nil
return t.deciding(obj, "Accepted", {
  on_false = "Degraded",
  progressing = { "Pending", "Waiting" },
  healthy = warning,
  waiting = "waiting for a controller to accept the class",
})
