-- SPDX-License-Identifier: Apache-2.0
-- It has no status: it is well when it is there, and its PodGroups tell of pods. Facts: scheduling.k8s.io/v1beta1.
local t = require("truce")

return t.healthy()
