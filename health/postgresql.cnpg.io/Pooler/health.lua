-- SPDX-License-Identifier: Apache-2.0
-- status.instances (PgBouncer pods that run) against spec.instances; a pooler can be told to pause.
local t = require("truce")

if t.get(obj, "spec", "pgbouncer", "paused") == true then
  return t.suspended("PgBouncer is paused")
end
local short = t.replicas(t.status(obj).instances, t.get(obj, "spec", "instances") or 1, "instances running")
if short then
  return t.progressing(short)
end
return t.healthy()
