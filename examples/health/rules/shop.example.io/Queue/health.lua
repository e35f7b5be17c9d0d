-- SPDX-License-Identifier: Apache-2.0
-- How a Queue of shop.example.io is. docs/health.md goes through it line by line.
--
-- The rule is called with the object as the cluster has it, in the global `obj`, and returns what a person should see:
-- a status (Healthy, Progressing, Degraded, Suspended, Missing, Unknown) and a message. Argo CD runs it as well.

-- A fresh object has no status: everything that is read may be missing.
local spec = obj.spec or {}
local status = obj.status or {}

-- Who stopped it did so on purpose.
if spec.paused then
  return { status = "Suspended", message = "paused" }
end

-- Conditions are a list: look for the type, and only at the status "True".
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Failed" and condition.status == "True" then
    -- Only truce reads `terminal`: nothing but a person will change this, so it is shown without waiting.
    return { status = "Degraded", message = condition.message, terminal = true }
  end
end

-- Counters that are zero are often left out.
local ready, wanted = status.readyWorkers or 0, spec.workers or 1
if ready < wanted then
  return { status = "Progressing", message = ready .. " of " .. wanted .. " workers ready" }
end

return { status = "Healthy", message = wanted .. " workers ready" }
