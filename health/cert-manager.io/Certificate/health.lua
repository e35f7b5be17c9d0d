-- SPDX-License-Identifier: Apache-2.0
-- Ready decides while the certificate that is there is valid: neither a renewal under way nor one that failed takes
-- that away. Issuing says how the next one fares: False with a lastFailureTime, it failed (and cert-manager tries
-- again by itself, ever later).
local t = require("truce")

local status = t.status(obj)
local ready, issuing = t.condition(obj, "Ready"), t.condition(obj, "Issuing")
local failed = issuing and issuing.status == "False" and status.lastFailureTime ~= nil

if not ready then
  return t.progressing(issuing and t.says(issuing) or "waiting for condition Ready")
end

if ready.status == "True" then
  local left = t.age(status.notAfter)
  if left and left >= 0 then
    return t.degraded("expired at " .. status.notAfter)
  end
  local message
  if failed then
    local valid_until = t.text(status.notAfter, "?")
    message = "renewal failed, the certificate is valid until " .. valid_until .. ": " .. t.says(issuing)
  elseif issuing and issuing.status == "True" then
    message = "is being renewed: " .. t.says(issuing)
  end
  return left and t.again(t.healthy(message), 1 - left) or t.healthy(message)
end

if failed or ready.reason == "Expired" then
  return t.degraded(t.says(failed and issuing or ready))
end
return t.progressing(t.says(issuing and issuing.status == "True" and issuing or ready))
