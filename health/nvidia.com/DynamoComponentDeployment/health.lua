-- SPDX-License-Identifier: Apache-2.0
-- Decided by Available, and DynamoComponentReady for the words. Facts: nvidia.com/v1beta1 and v1alpha1.
local t = require("truce")

local answer = t.deciding(obj, "Available", { observed = true })
local ready = t.condition(obj, "DynamoComponentReady")
if answer.status == "Healthy" and ready and ready.status ~= "True" then
  return t.progressing(t.named(ready))
end
return answer
