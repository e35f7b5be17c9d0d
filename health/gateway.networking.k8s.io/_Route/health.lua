-- SPDX-License-Identifier: Apache-2.0
-- HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute. Each of spec.parentRefs must have its entry in status.parents,
-- with Accepted and ResolvedRefs True and no PartiallyInvalid, all of this generation. Entries of parents that the
-- route no longer names are not read.
local t = require("truce")

local namespace = t.get(obj, "metadata", "namespace")
local generation = t.get(obj, "metadata", "generation")
local worst

local function note(status, message)
  if not worst or (status == "Degraded" and worst.status ~= "Degraded") then
    worst = { status = status, message = message }
  end
end

-- A reference as text to compare, with its defaults filled in.
local function identity(ref)
  local parts = {}
  for _, part in ipairs({ { "group", "gateway.networking.k8s.io" }, { "kind", "Gateway" }, { "namespace", namespace },
    { "name" }, { "sectionName" }, { "port" } }) do
    local value = t.get(ref, part[1])
    parts[#parts + 1] = tostring(value ~= nil and value or part[2])
  end
  return table.concat(parts, "\n")
end

local function shown(ref)
  local kind, name = t.text(t.get(ref, "kind"), "Gateway"), t.text(t.get(ref, "name"), "?")
  local section = t.text(t.get(ref, "sectionName"))
  return kind .. " " .. name .. (section and "/" .. section or "")
end

local function read(list, kind, good, where)
  local condition = t.condition_in(list, kind, generation)
  if not condition then
    if kind ~= "PartiallyInvalid" then
      note("Progressing", where .. ": waiting for condition " .. kind)
    end
  elseif condition.status ~= good then
    local waits = condition.status == "Unknown" or condition.reason == "Pending"
    note(waits and "Progressing" or "Degraded", where .. ": " .. t.says(condition))
  end
end

local parents = t.table(t.status(obj).parents)
for _, ref in ipairs(t.table(t.get(obj, "spec", "parentRefs"))) do
  local wanted, found = identity(ref), false
  for _, parent in ipairs(parents) do
    if identity(t.get(parent, "parentRef")) == wanted then
      found = true
      local conditions = t.get(parent, "conditions")
      read(conditions, "Accepted", "True", shown(ref))
      read(conditions, "ResolvedRefs", "True", shown(ref))
      read(conditions, "PartiallyInvalid", "False", shown(ref))
    end
  end
  if not found then
    note("Progressing", shown(ref) .. ": waiting for it to take up the route")
  end
end
return worst or t.healthy()
