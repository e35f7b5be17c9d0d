-- SPDX-License-Identifier: Apache-2.0
-- Configured and Deployed decide: False is Degraded, Unknown or missing is waited for.
local t = require("truce")

return t.all_true(obj, { "Configured", "Deployed" })
