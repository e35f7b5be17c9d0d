-- SPDX-License-Identifier: Apache-2.0
-- Decided by Accepted and ResolvedRefs of every parent, about this generation. Facts: inference.networking.k8s.io/v1;
-- the older inference.networking.x-k8s.io calls the list parent, and has an entry of kind Status in it from the
-- beginning, which is no gateway and may stay.
local t = require("truce")

local status = t.status(obj)
local generation = t.get(obj, "metadata", "generation")
local gateways = {}
for _, parent in ipairs(t.table(status.parents or status.parent)) do
  if t.get(parent, "parentRef", "kind") ~= "Status" then
    gateways[#gateways + 1] = parent
  end
end
local waits
for _, parent in ipairs(gateways) do
  local name = t.text(t.get(parent, "parentRef", "name"), "?")
  for _, kind in ipairs({ "Accepted", "ResolvedRefs" }) do
    local c = t.condition_in(t.get(parent, "conditions"), kind, generation)
    if c and c.status == "False" then
      return t.degraded(string.format("gateway %s: %s", name, t.named(c)))
    end
    if not c or c.status ~= "True" then
      waits = waits or string.format("gateway %s: %s", name, c and t.says(c) or "waiting for condition " .. kind)
    end
  end
end
if waits then
  return t.progressing(waits)
end
if #gateways == 0 then
  return t.progressing("no gateway has taken it up yet")
end
return t.healthy()
