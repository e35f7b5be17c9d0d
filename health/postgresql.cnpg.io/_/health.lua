-- SPDX-License-Identifier: Apache-2.0
-- Database, Publication and Subscription: status.applied decides; status.observedGeneration moves on success only.
-- Image catalogs have no status.
local t = require("truce")

if obj.kind == "ImageCatalog" or obj.kind == "ClusterImageCatalog" then
  return nil
end
local status = t.status(obj)
if status.applied == false then
  return t.degraded(t.text(status.message, "it could not be applied"))
end
if status.applied == nil then
  return t.progressing(t.text(status.message, "waiting for the instance manager to apply it"))
end
local late = t.unobserved(obj)
if late then
  return late
end
return t.healthy()
