-- SPDX-License-Identifier: Apache-2.0
-- Synced decides: the bundle is in all the namespaces that it shall be in.
local t = require("truce")

return t.deciding(obj, "Synced", { on_false = "Degraded" })
