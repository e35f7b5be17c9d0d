-- SPDX-License-Identifier: Apache-2.0
-- Succeeded decides: a run ends as True or False and does not start again. It may be held before it starts.
local t = require("truce")

if t.get(obj, "spec", "status") == "PipelineRunPending" then
  return t.suspended("held by spec.status, which is PipelineRunPending")
end
return require("tekton").run(obj)
