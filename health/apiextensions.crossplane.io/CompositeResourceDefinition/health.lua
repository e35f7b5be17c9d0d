-- SPDX-License-Identifier: Apache-2.0
-- Established, and Offered when claims are defined, decide: the kind is served and watched.
local t = require("truce")

local established = t.deciding(obj, "Established")
if established.status ~= "Healthy" or t.get(obj, "spec", "claimNames") == nil then
  return established
end
return t.deciding(obj, "Offered")
