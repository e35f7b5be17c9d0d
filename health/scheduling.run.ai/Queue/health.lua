-- SPDX-License-Identifier: Apache-2.0
-- A queue publishes only how much of it is used: it is well when it is there. Facts: scheduling.run.ai/v2.
local t = require("truce")

return t.healthy()
