-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready, which is about the observed generation. Facts: the conditions that Knative's kinds share
-- (eventing, messaging, sources, flows, and what has no rule of its own in serving). Of its internal kinds, whose
-- Ready has other meanings (a PodAutoscaler at 0 is not), the ones above them tell.
local t = require("truce")

if t.text(t.get(obj, "apiVersion"), ""):find(".internal.knative.dev/", 1, true) then
  return nil
end
return t.deciding(obj, "Ready", { on_false = "Degraded", observed = true })
