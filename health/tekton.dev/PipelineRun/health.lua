-- SPDX-License-Identifier: Apache-2.0
-- Succeeded decides: a run ends as True or False and does not start again. One that somebody cancelled has not done
-- what it should.
local t = require("truce")

if t.get(obj, "spec", "status") == "PipelineRunPending" then
  return t.suspended("held by spec.status, which is PipelineRunPending")
end
local succeeded = t.condition(obj, "Succeeded")
if succeeded and succeeded.status == "True" then
  return t.healthy(t.text(succeeded.message))
end
if succeeded and succeeded.status == "False" then
  return t.degraded_for_good(t.says(succeeded))
end
return t.progressing(succeeded and t.says(succeeded) or "waiting for Tekton to start it")
