-- SPDX-License-Identifier: Apache-2.0
-- status.created: the constraint's kind is served. Each of Gatekeeper's pods says in status.byPod whether it could
-- compile this generation.
local t = require("truce")

local status = t.status(obj)
local generation = t.number(t.get(obj, "metadata", "generation"), 0)
for _, pod in ipairs(t.table(status.byPod)) do
  local problem = t.table(t.get(pod, "errors"))[1]
  if problem then
    local code, message = t.get(problem, "code"), t.get(problem, "message")
    return t.degraded_for_good(t.says({ type = "error", reason = code, message = message }))
  end
  if t.number(t.get(pod, "observedGeneration"), 0) < generation then
    return t.progressing("waiting for " .. t.text(t.get(pod, "id"), "a Gatekeeper pod"))
  end
end
if status.created == true then
  return t.healthy()
end
return t.progressing("waiting for Gatekeeper to create the constraint's kind")
