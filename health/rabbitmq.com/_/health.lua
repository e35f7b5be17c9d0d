-- SPDX-License-Identifier: Apache-2.0
-- Queue, Exchange, Binding, User, Vhost, Policy, Permission …: Ready, once status.observedGeneration has caught up.
local t = require("truce")

return t.deciding(obj, "Ready", { on_false = "Degraded", observed = true })
