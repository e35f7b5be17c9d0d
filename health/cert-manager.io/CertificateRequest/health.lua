-- SPDX-License-Identifier: Apache-2.0
-- A request is made once: Ready with reason Failed or Denied is its end, and so are InvalidRequest and Denied. Until
-- somebody approves it (condition Approved) it waits.
local t = require("truce")

for _, kind in ipairs({ "InvalidRequest", "Denied" }) do
  if t.is(obj, kind) then
    return t.degraded_for_good(t.says(t.condition(obj, kind)))
  end
end
if not t.condition(obj, "Ready") and not t.is(obj, "Approved") then
  return t.progressing("waiting for approval")
end
return t.deciding(obj, "Ready", { for_good = { "Failed", "Denied" } })
