-- SPDX-License-Identifier: Apache-2.0
-- A pool has no Ready of its own (its Kafka has): it is taken up when its generation is observed and it has its
-- nodes.
local t = require("truce")

local late = t.unobserved(obj)
if late then
  return late
end
local nodes = #t.table(t.status(obj).nodeIds)
local short = t.replicas(nodes, t.get(obj, "spec", "replicas"), "nodes assigned")
if short then
  return t.progressing(short)
end
local warning = t.condition(obj, "Warning")
return t.healthy(warning and "warning: " .. t.says(warning) or nil)
