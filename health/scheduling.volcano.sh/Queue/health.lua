-- SPDX-License-Identifier: Apache-2.0
-- Decided by status.state. Facts: scheduling.volcano.sh/v1beta1; no generation is published.
local t = require("truce")

local state = t.text(t.status(obj).state)
if state == "Open" then
  return t.healthy()
end
if state == "Closed" then
  return t.suspended("closed")
end
if state == "Closing" then
  return t.progressing("closing: its jobs are still there")
end
return t.progressing(state and "state is " .. state or "waiting for its controller: there is no state yet")
