-- SPDX-License-Identifier: Apache-2.0
-- Denied and Failed are its ends, and so is a certificate; until then it waits for approval, then for the signer.
local t = require("truce")

for _, kind in ipairs({ "Denied", "Failed" }) do
  local condition = t.condition(obj, kind)
  if condition and condition.status == "True" then
    return t.degraded_for_good(kind .. ": " .. t.says(condition))
  end
end
if t.text(t.status(obj).certificate) then
  return t.healthy()
end
if t.is(obj, "Approved") then
  return t.progressing("approved, waiting for signer " .. t.text(t.get(obj, "spec", "signerName"), "?"))
end
return t.progressing("waiting for approval")
