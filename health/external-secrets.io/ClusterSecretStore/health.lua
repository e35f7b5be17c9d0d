-- SPDX-License-Identifier: Apache-2.0
-- Ready decides: False means that the provider cannot be reached or refuses the credentials.
local t = require("truce")

return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for the operator to check the store" })
