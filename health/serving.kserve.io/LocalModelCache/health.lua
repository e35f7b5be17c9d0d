-- SPDX-License-Identifier: Apache-2.0
-- Decided by the counters of copies on nodes. Facts: serving.kserve.io/v1alpha1; no generation is published.
local t = require("truce")

local copies = t.table(t.status(obj).copies)
local total, available = t.number(copies.total, 0), t.number(copies.available, 0)
local failed = t.number(copies.failed, 0)
if failed > 0 then
  return t.degraded(string.format("%s of %s copies failed, %s available", failed, total, available))
end
if total == 0 then
  return t.progressing("no node holds a copy yet")
end
local short = t.replicas(available, total, "copies available")
if short then
  return t.progressing(short)
end
return t.healthy()
