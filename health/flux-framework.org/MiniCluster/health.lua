-- SPDX-License-Identifier: Apache-2.0
-- Decided by JobFinished and JobRunning; whether its Job failed is told by that Job. Facts:
-- flux-framework.org/v1alpha2; no generation is published.
local t = require("truce")

local status = t.status(obj)
if t.is(obj, "JobFinished") then
  return t.healthy("finished: " .. t.says(t.condition(obj, "JobFinished")))
end
if t.is(obj, "JobRunning") then
  return t.healthy(string.format("%s of at most %s nodes", t.number(status.size, 0), t.number(status.maximumSize, 0)))
end
for _, c in ipairs(t.table(status.conditions)) do
  if t.get(c, "status") == "True" then
    return t.progressing(t.named(c))
  end
end
return t.progressing("waiting for condition JobRunning")
