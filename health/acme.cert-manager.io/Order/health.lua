-- SPDX-License-Identifier: Apache-2.0
-- status.state decides, in the words of RFC 8555: an order ends as valid, invalid, expired or errored.
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.state, "not placed yet")
local message = "order is " .. state
if t.text(status.reason) then
  message = message .. ": " .. status.reason
end

if state == "valid" then
  return t.healthy()
end
if t.contains({ "invalid", "expired", "errored" }, state) then
  return t.degraded_for_good(message)
end
return t.progressing(message)
