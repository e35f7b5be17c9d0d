-- SPDX-License-Identifier: Apache-2.0
-- Decided by the annotation that stops it, Stalled, Ready and Reconciling. Facts: FluxInstance, FluxReport,
-- ResourceSet and ResourceSetInputProvider of fluxcd.controlplane.io/v1. A dependency that is not ready is waited
-- for.
local t = require("truce")

if t.annotation(obj, "fluxcd.controlplane.io/reconcile") == "disabled" then
  return t.suspended("disabled by annotation fluxcd.controlplane.io/reconcile")
end
if t.is(obj, "Stalled") then
  return t.degraded_for_good(t.says(t.condition(obj, "Stalled")))
end
if t.is(obj, "Ready") and t.is(obj, "Reconciling") then
  return t.progressing(t.says(t.condition(obj, "Reconciling")))
end
return t.deciding(obj, "Ready", { on_false = "Degraded", progressing = { "DependencyNotReady" }, observed = false })
