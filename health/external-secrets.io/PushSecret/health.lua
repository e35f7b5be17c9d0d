-- SPDX-License-Identifier: Apache-2.0
-- Ready decides; status.syncedResourceVersion ("3-<hash>") tells which generation was pushed last.
local t = require("truce")

local pushed = t.number(t.text(t.status(obj).syncedResourceVersion, ""):match("^%d+"))
local generation = t.number(t.get(obj, "metadata", "generation"))
if t.is(obj, "Ready") and pushed and generation and pushed < generation then
  return t.progressing(string.format("waiting for the operator: generation %s is pushed, %s is awaited", pushed,
    generation))
end
return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for the first push" })
