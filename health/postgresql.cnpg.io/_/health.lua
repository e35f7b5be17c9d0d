-- SPDX-License-Identifier: Apache-2.0
-- Database, Publication and Subscription: status.applied decides, once status.observedGeneration has caught up. Image
-- catalogs have no status.
local t = require("truce")

if obj.kind == "ImageCatalog" or obj.kind == "ClusterImageCatalog" then
  return nil
end
local status = t.status(obj)
if t.stale(obj) and status.applied == nil then
  return t.progressing("waiting for the instance manager to apply it")
end
local late = t.unobserved(obj)
if status.applied == false then
  return t.degraded(t.text(status.message, "it could not be applied"))
end
return late or t.healthy(t.text(status.message))
