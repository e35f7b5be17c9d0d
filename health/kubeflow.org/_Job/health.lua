-- SPDX-License-Identifier: Apache-2.0
-- PyTorchJob, TFJob, JAXJob, XGBoostJob, PaddleJob: the condition that is True names the state. A job runs once:
-- Succeeded and Failed are its ends. Suspended=False says nothing.
local t = require("truce")

local status = t.status(obj)
local failed = t.condition(obj, "Failed")
if t.is(obj, "Succeeded") then
  return t.healthy()
end
if failed and failed.status == "True" then
  return t.degraded_for_good(t.says(failed))
end
if t.is(obj, "Suspended") then
  return t.suspended(t.says(t.condition(obj, "Suspended")))
end
if t.get(obj, "spec", "runPolicy", "suspend") == true then
  return t.progressing("its pods are being removed")
end
for _, kind in ipairs({ "Restarting", "Running", "Created" }) do
  if t.is(obj, kind) then
    local counts = {}
    for _, role in ipairs(t.keys(status.replicaStatuses)) do
      local active = t.number(t.get(status.replicaStatuses, role, "active"), 0)
      counts[#counts + 1] = string.format("%s %s active", active, role)
    end
    local says = t.says(t.condition(obj, kind))
    return t.progressing(#counts > 0 and says .. " (" .. table.concat(counts, ", ") .. ")" or says)
  end
end
return t.progressing("waiting for the training operator")
