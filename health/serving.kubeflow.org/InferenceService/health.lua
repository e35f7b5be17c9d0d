-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready, as Knative kinds are. Facts: serving.kubeflow.org/v1beta1 and v1alpha2, the older group of
-- serving.kserve.io. Its status.observedGeneration is copied from a child and is not compared.
local t = require("truce")

return t.deciding(obj, "Ready", { on_false = "Degraded", observed = false })
