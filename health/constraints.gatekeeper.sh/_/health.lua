-- SPDX-License-Identifier: Apache-2.0
-- Each of Gatekeeper's pods says in status.byPod whether it enforces this generation, or why not. Violations that
-- audit has found are other objects' faults: only shown.
local t = require("truce")

local status = t.status(obj)
local generation = t.number(t.get(obj, "metadata", "generation"), 0)
local pods, behind = t.table(status.byPod), 0
for _, pod in ipairs(pods) do
  local problem = t.table(t.get(pod, "errors"))[1]
  if problem then
    return t.degraded(t.says({ reason = t.get(problem, "code"), message = t.get(problem, "message"), type = "error" }))
  end
  if t.get(pod, "enforced") ~= true or t.number(t.get(pod, "observedGeneration"), 0) < generation then
    behind = behind + 1
  end
end
if #pods == 0 then
  return t.progressing("waiting for Gatekeeper to take it up")
end
if behind > 0 then
  return t.progressing(string.format("%s of %s Gatekeeper pods enforce it", #pods - behind, #pods))
end
local violations = t.number(status.totalViolations, 0)
return t.healthy(violations > 0 and string.format("%s violations found", violations) or nil)
