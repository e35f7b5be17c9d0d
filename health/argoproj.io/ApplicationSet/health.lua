-- SPDX-License-Identifier: Apache-2.0
-- Decided by ErrorOccurred, RolloutProgressing and ResourcesUpToDate. Facts: argoproj.io/v1alpha1; no generation is
-- published.
local t = require("truce")

if t.is(obj, "ErrorOccurred") then
  return t.degraded(t.says(t.condition(obj, "ErrorOccurred")))
end
if t.is(obj, "RolloutProgressing") then
  return t.progressing(t.says(t.condition(obj, "RolloutProgressing")))
end
return t.deciding(obj, "ResourcesUpToDate")
