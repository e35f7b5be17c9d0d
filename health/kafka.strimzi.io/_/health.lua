-- SPDX-License-Identifier: Apache-2.0
-- Kafka, KafkaConnect, KafkaBridge, KafkaUser and whatever else the operator only gives Ready or NotReady, once
-- status.observedGeneration has caught up. NotReady=True with reason Creating is the way up, any other an error.
local t = require("truce")
local strimzi = require("strimzi")

local early = strimzi.early(obj)
if early then
  return early
end
local down = t.condition(obj, "NotReady")
if down and down.status == "True" then
  if down.reason == "Creating" then
    return t.progressing(t.says(down))
  end
  return t.degraded(t.says(down))
end
local warning = t.condition(obj, "Warning")
return t.deciding(obj, "Ready", { on_false = "Degraded", healthy = warning and "warning: " .. t.says(warning) or nil })
