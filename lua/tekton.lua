-- SPDX-License-Identifier: Apache-2.0
-- Tekton: runs of tasks and of pipelines.
local t = require("truce")
local tekton = {}

-- Succeeded decides: a run ends as True or False and does not start again. One that somebody cancelled has not done
-- what it should.
function tekton.run(obj)
  local succeeded = t.condition(obj, "Succeeded")
  if succeeded and succeeded.status == "True" then
    return t.healthy(t.text(succeeded.message))
  end
  if succeeded and succeeded.status == "False" then
    return t.degraded_for_good(t.says(succeeded))
  end
  return t.progressing(succeeded and t.says(succeeded) or "waiting for Tekton to start it")
end

return tekton
