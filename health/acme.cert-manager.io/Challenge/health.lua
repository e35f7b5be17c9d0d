-- SPDX-License-Identifier: Apache-2.0
-- status.state decides, in the words of RFC 8555; while it is pending, presented says whether the answer is in place
-- and reason what the self check still sees.
local t = require("truce")

local status = t.status(obj)
local state = t.text(status.state, "queued")
local message = t.text(status.reason)

if state == "valid" then
  return t.healthy()
end
if t.contains({ "invalid", "expired", "errored" }, state) then
  return t.degraded_for_good("challenge is " .. state .. (message and ": " .. message or ""))
end
if message then
  return t.progressing(message)
end
if status.presented == true then
  return t.progressing("presented, waiting for the server to look")
end
return t.progressing("challenge is " .. state)
