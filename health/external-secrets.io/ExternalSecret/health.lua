-- SPDX-License-Identifier: Apache-2.0
-- Ready decides, but it carries no generation: the first number of status.syncedResourceVersion ("3-<hash>") is the
-- one that was synced. What is written once (refreshPolicy CreatedOnce, a Periodic one with interval 0) stays behind.
local t = require("truce")

local function written_once(spec)
  local interval = t.text(spec.refreshInterval, "1h")
  local periodic = spec.refreshPolicy == nil or spec.refreshPolicy == "Periodic"
  return spec.refreshPolicy == "CreatedOnce" or (periodic and not interval:find("[1-9]"))
end

local synced = t.number(t.text(t.status(obj).syncedResourceVersion, ""):match("^%d+"))
local generation = t.number(t.get(obj, "metadata", "generation"))
if t.is(obj, "Ready") and synced and generation and synced < generation and not written_once(t.table(obj.spec)) then
  return t.progressing(string.format("waiting for the operator: generation %s is synced, %s is awaited", synced,
    generation))
end
-- It is True, too, when nothing was written: what is to be merged into is not there, or the source is gone.
local ready = t.condition(obj, "Ready")
if ready and ready.status == "True" and ready.reason == "SecretMissing" then
  return t.progressing("waiting for the Secret to merge into: " .. t.says(ready))
end
local deleted = ready and ready.reason == "SecretDeleted" and t.text(ready.message) or nil
return t.deciding(obj, "Ready", { on_false = "Degraded", healthy = deleted, waiting = "waiting for the first sync" })
