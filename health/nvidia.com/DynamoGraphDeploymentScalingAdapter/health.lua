-- SPDX-License-Identifier: Apache-2.0
-- Decided by status.replicas against spec.replicas, which an autoscaler writes. Facts: nvidia.com/v1beta1 and
-- v1alpha1; no generation is published, and a count of 0 is left out of the status.
local t = require("truce")

local status = t.status(obj)
if next(status) == nil then
  return t.progressing("waiting for its controller: there is no status yet")
end
local want, have = t.number(t.get(obj, "spec", "replicas"), 0), t.number(status.replicas, 0)
if have ~= want then
  return t.progressing(string.format("%s replicas, %s wanted", have, want))
end
if want == 0 then
  return t.healthy("scaled to 0")
end
return t.healthy()
