-- SPDX-License-Identifier: Apache-2.0
-- Velero: what runs once, be it a backup or its way back.
local t = require("truce")
local velero = {}

-- status.phase decides. It runs once: Completed, PartiallyFailed, Failed and FailedValidation are its ends.
function velero.run(obj)
  local status = t.status(obj)
  local phase = t.text(status.phase, "New")
  local details = {}
  for _, problem in ipairs(t.table(status.validationErrors)) do
    details[#details + 1] = t.text(problem)
  end
  if t.text(status.failureReason) then
    details[#details + 1] = status.failureReason
  end
  for _, counter in ipairs({ "errors", "warnings" }) do
    local count = t.number(status[counter], 0)
    if count > 0 then
      details[#details + 1] = string.format("%s %s", count, counter)
    end
  end
  local says = #details > 0 and phase .. ": " .. table.concat(details, ", ") or phase

  if phase == "Completed" then
    return t.healthy(#details > 0 and table.concat(details, ", ") or nil)
  end
  if t.contains({ "PartiallyFailed", "Failed", "FailedValidation" }, phase) then
    return t.degraded_for_good(says)
  end
  local done = t.get(status, "progress", "itemsBackedUp") or t.get(status, "progress", "itemsRestored")
  local total = t.get(status, "progress", "totalItems")
  if done and total then
    return t.progressing(string.format("%s, %s of %s items", says, done, total))
  end
  return t.progressing(says)
end

return velero
