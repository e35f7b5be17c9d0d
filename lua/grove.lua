-- SPDX-License-Identifier: Apache-2.0
-- Grove: what the kinds that hold pods have in common.
local t = require("truce")
local grove = {}

local ERRORS_S = 60 -- an error is news only behind the first minute of an update: until then it mostly goes by

-- What the last of status.lastErrors comes to; nil: there is none. progress is the update's, or an empty table.
function grove.failing(obj, progress)
  local errors = t.table(t.status(obj).lastErrors)
  if #errors == 0 then
    return nil
  end
  local e, begun = errors[#errors], progress.updateStartedAt or t.get(obj, "metadata", "creationTimestamp")
  local says = string.format("%s: %s", t.text(t.get(e, "code"), "error"), t.text(t.get(e, "description"), "no words"))
  local age = t.age(begun)
  if age and age < ERRORS_S then
    return t.again(t.progressing(says), ERRORS_S - age)
  end
  return t.degraded(says)
end

return grove
