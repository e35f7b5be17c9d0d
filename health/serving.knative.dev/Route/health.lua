-- SPDX-License-Identifier: Apache-2.0
-- Decided by Ready, which is about the observed generation. Facts: serving.knative.dev/v1.
local t = require("truce")

return t.deciding(obj, "Ready", { on_false = "Degraded", observed = true })
