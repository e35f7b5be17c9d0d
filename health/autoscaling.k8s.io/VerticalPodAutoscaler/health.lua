-- SPDX-License-Identifier: Apache-2.0
-- RecommendationProvided decides; ConfigUnsupported: the target cannot be scaled. A target without pods or with
-- little history has no recommendation yet.
local t = require("truce")

local unsupported = t.condition(obj, "ConfigUnsupported")
if unsupported and unsupported.status == "True" then
  return t.degraded("ConfigUnsupported: " .. t.says(unsupported))
end
if t.is(obj, "NoPodsMatched") then
  return t.healthy(t.says(t.condition(obj, "NoPodsMatched")))
end
return t.deciding(obj, "RecommendationProvided", { waiting = "waiting for the recommender" })
