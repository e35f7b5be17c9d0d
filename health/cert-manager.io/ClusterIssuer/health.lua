-- SPDX-License-Identifier: Apache-2.0
-- Ready decides: False means that the account, the key or the server cannot be used, and nothing is issued.
local t = require("truce")

return t.deciding(obj, "Ready", { on_false = "Degraded", waiting = "waiting for cert-manager to check the issuer" })
