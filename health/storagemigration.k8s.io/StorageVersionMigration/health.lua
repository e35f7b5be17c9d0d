-- SPDX-License-Identifier: Apache-2.0
-- Decided by Failed, Succeeded and Running. Facts: storagemigration.k8s.io/v1 and v1beta1; generations only in
-- conditions.
local t = require("truce")

if t.is(obj, "Failed") then
  return t.degraded_for_good(t.says(t.condition(obj, "Failed")))
end
if t.is(obj, "Succeeded") then
  return t.healthy()
end
if t.is(obj, "Running") then
  return t.progressing("rewriting what is stored: " .. t.says(t.condition(obj, "Running")))
end
return t.progressing("not started yet")
