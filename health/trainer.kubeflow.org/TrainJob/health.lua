-- SPDX-License-Identifier: Apache-2.0
-- The conditions Complete, Failed and Suspended that are True decide; Suspended=False (resumed) says nothing. While
-- it runs, status.jobsStatus counts the pods of its steps.
local t = require("truce")

local failed = t.condition(obj, "Failed")
if t.is(obj, "Complete") then
  return t.healthy()
end
if failed and failed.status == "True" then
  return t.degraded_for_good(t.says(failed))
end
if t.is(obj, "Suspended") then
  return t.suspended(t.says(t.condition(obj, "Suspended")))
end
local counts = {}
for _, job in ipairs(t.table(t.status(obj).jobsStatus)) do
  counts[#counts + 1] = string.format("%s: %s active, %s succeeded", t.text(t.get(job, "name"), "?"),
    t.number(t.get(job, "active"), 0), t.number(t.get(job, "succeeded"), 0))
end
if #counts > 0 then
  return t.progressing(table.concat(counts, "; "))
end
return t.progressing("waiting for its jobs")
