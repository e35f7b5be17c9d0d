-- SPDX-License-Identifier: Apache-2.0
--[[
Helpers for health rules:

    local t = require("truce")

A rule is given the live object as the global `obj` and returns what a person should see:

    local late = t.unobserved(obj)
    if late then
      return late
    end
    local short = t.replicas(t.status(obj).readyReplicas, t.get(obj, "spec", "replicas") or 1, "workers ready")
    if short then
      return t.progressing(short)
    end
    return t.deciding(obj, "Ready", { on_false = "Degraded" })

Nothing here raises, whatever the object holds: what is missing, or is of another type than expected, reads as absent.
Nothing here changes the object, and nothing is kept between two evaluations. It is plain Lua 5.4 and needs of the
libraries only string, math, table and, for ages, require("os").time().
]]
local t = {}

-- Results ------------------------------------------------------------------------------------------------------------

local function result(status, message)
  return { status = status, message = message or "" }
end

-- It does what it should. The message may be left out.
function t.healthy(message)
  return result("Healthy", message)
end

-- It is on its way: say what is waited for.
function t.progressing(message)
  return result("Progressing", message)
end

-- It does not work. Shown when it holds for some seconds: it may yet go away by itself.
function t.degraded(message)
  return result("Degraded", message)
end

-- It does not work and nothing will change that but a person: shown at once.
function t.degraded_for_good(message)
  local r = result("Degraded", message)
  r.terminal = true
  return r
end

-- Somebody has stopped it on purpose.
function t.suspended(message)
  return result("Suspended", message)
end

-- The same result, to be asked for again after so many seconds although nothing changes: for what depends on the time.
function t.again(r, seconds)
  r.again = math.max(1, math.ceil(seconds))
  return r
end

-- Reading ------------------------------------------------------------------------------------------------------------

-- t.get(obj, "spec", "template", 1, "name"): the value at a path; nil where it breaks off.
function t.get(v, ...)
  for i = 1, select("#", ...) do
    if type(v) ~= "table" then
      return nil
    end
    v = v[(select(i, ...))]
  end
  return v
end

-- The value when it is a table (a list to walk, a map to look into), else an empty one.
function t.table(v)
  if type(v) == "table" then
    return v
  end
  return {}
end

-- The value when it is a number or text that is one ("7"), else the default (nil without one).
function t.number(v, default)
  local kind = type(v)
  if kind == "number" then
    return v
  end
  return kind == "string" and tonumber(v) or default
end

-- The value when it is text that is not empty, else the default (nil without one).
function t.text(v, default)
  if type(v) == "string" and v ~= "" then
    return v
  end
  return default
end

-- obj.status, or an empty table.
function t.status(obj)
  return t.table(t.get(obj, "status"))
end

-- An annotation's text, or nil.
function t.annotation(obj, name)
  return t.text(t.get(obj, "metadata", "annotations", name))
end

-- Whether the list holds the value.
function t.contains(list, value)
  for _, item in ipairs(t.table(list)) do
    if item == value then
      return true
    end
  end
  return false
end

-- A map's keys in order: what is walked by them gives the same message each time.
function t.keys(map)
  local keys = {}
  for key in pairs(t.table(map)) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  return keys
end

-- Conditions ---------------------------------------------------------------------------------------------------------

-- A condition that speaks of an older generation says nothing about this one.
local function outdated(condition, generation)
  return {
    type = condition.type,
    status = "Unknown",
    lastTransitionTime = condition.lastTransitionTime,
    observedGeneration = condition.observedGeneration,
    message = string.format("condition %s is about generation %s, %s is awaited", condition.type,
      condition.observedGeneration, generation),
  }
end

-- The condition of that type in any list of conditions, or nil. One whose own observedGeneration is behind `generation`
-- comes back as a copy with status "Unknown", no reason, and a message that says so. generation may be nil.
function t.condition_in(list, kind, generation)
  generation = t.number(generation)
  for _, condition in ipairs(t.table(list)) do
    if type(condition) == "table" and condition.type == kind then
      local observed = t.number(condition.observedGeneration)
      if observed and generation and observed < generation then
        return outdated(condition, generation)
      end
      return condition
    end
  end
  return nil
end

-- The same of obj.status.conditions, and with metadata.generation.
function t.condition(obj, kind)
  return t.condition_in(t.status(obj).conditions, kind, t.get(obj, "metadata", "generation"))
end

-- Whether the condition is there, about this generation, and has that status ("True" when it is left out).
function t.is(obj, kind, status)
  local condition = t.condition(obj, kind)
  return condition ~= nil and condition.status == (status or "True")
end

-- A condition for people: "Reason: message", the one of them that it has, or "Ready is False". nil gives "".
function t.says(condition)
  if type(condition) ~= "table" then
    return ""
  end
  local reason, message = t.text(condition.reason), t.text(condition.message)
  if reason and message then
    return reason .. ": " .. message
  end
  return reason or message or string.format("%s is %s", condition.type or "condition", condition.status or "not set")
end

-- The same with the type before it: "PodsReady: Reason: message"; "PodsReady is False" when it says nothing more.
function t.named(condition)
  local says = t.says(condition)
  if t.text(t.get(condition, "reason")) or t.text(t.get(condition, "message")) then
    return string.format("%s: %s", t.get(condition, "type"), says)
  end
  return says
end

-- Generations --------------------------------------------------------------------------------------------------------

-- Whether status.observedGeneration is behind metadata.generation or missing: for kinds that publish it.
function t.stale(obj)
  local observed = t.number(t.status(obj).observedGeneration)
  if not observed then
    return true
  end
  return observed < t.number(t.get(obj, "metadata", "generation"), 0)
end

-- For the same kinds: Progressing when it is stale, else nil.
function t.unobserved(obj)
  if not t.stale(obj) then
    return nil
  end
  local observed, generation = t.status(obj).observedGeneration, t.get(obj, "metadata", "generation")
  if observed == nil then
    return t.progressing("waiting for its controller: there is no status yet")
  end
  return t.progressing(string.format("waiting for its controller: generation %s is observed, %s is awaited", observed,
    generation))
end

-- Answers ------------------------------------------------------------------------------------------------------------

-- The condition that says why: this one when it has a reason or a message, else the first other one of the same status
-- that has (a Ready often only sums up), else this one.
function t.explaining(obj, condition)
  if t.text(condition.reason) or t.text(condition.message) then
    return condition
  end
  for _, other in ipairs(t.table(t.status(obj).conditions)) do
    if type(other) == "table" and other.status == condition.status and t.text(other.reason) then
      return other
    end
  end
  return condition
end

local function on_false(condition, opts)
  local says = t.says(condition)
  if t.contains(opts.for_good, condition.reason) then
    return t.degraded_for_good(says)
  end
  if t.contains(opts.degraded, condition.reason) then
    return t.degraded(says)
  end
  if opts.on_false == "Degraded" and not t.contains(opts.progressing, condition.reason) then
    return t.degraded(says)
  end
  return t.progressing(says)
end

-- The usual answer of one condition: True is Healthy, False what opts say, everything else Progressing.
--
--   on_false      "Progressing" (default) or "Degraded": a False whose reason is in none of the lists
--   progressing   reasons of a False that are Progressing all the same
--   degraded      reasons of a False that are Degraded all the same
--   for_good      reasons of a False that are Degraded and do not go away by themselves
--   healthy       message when it is True
--   waiting       message when there is no such condition
--   observed      status.observedGeneration: nil: must not be behind; true: must be there, too; false: is not read
function t.deciding(obj, kind, opts)
  opts = opts or {}
  if opts.observed or (opts.observed == nil and t.status(obj).observedGeneration ~= nil) then
    local late = t.unobserved(obj)
    if late then
      return late
    end
  end
  local condition = t.condition(obj, kind)
  if not condition then
    return t.progressing(opts.waiting or string.format("waiting for condition %s", kind))
  end
  if condition.status == "True" then
    return t.healthy(opts.healthy)
  end
  if condition.status == "False" then
    return on_false(t.explaining(obj, condition), opts)
  end
  return t.progressing(t.says(t.explaining(obj, condition)))
end

-- The usual answer where several conditions must be True: one that is False is Degraded, else one that is not True, or
-- not there, is waited for. Of several the first of the list.
function t.all_true(obj, kinds)
  local waits
  for _, kind in ipairs(kinds) do
    local condition = t.condition(obj, kind)
    if condition and condition.status == "False" then
      return t.degraded(t.says(condition))
    end
    if not condition or condition.status ~= "True" then
      waits = waits or (condition and t.says(condition) or "waiting for condition " .. kind)
    end
  end
  if waits then
    return t.progressing(waits)
  end
  return t.healthy()
end

-- Counters: "1 of 3 ready" when there are fewer than wanted, nil when there are enough. Missing counters are 0. `what`
-- is the end of the sentence: "ready", "workers up to date".
function t.replicas(have, want, what)
  have, want = t.number(have, 0), t.number(want, 0)
  if have >= want then
    return nil
  end
  return string.format("%s of %s %s", have, want, what)
end

-- Time ---------------------------------------------------------------------------------------------------------------

-- Days from 1970-01-01 to a date of the Gregorian calendar; the year begins with March, so that a leap day is its last.
local function days(year, month, day)
  if month <= 2 then
    year = year - 1
  end
  local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
  return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719468
end

-- An RFC 3339 time as Unix seconds, fractions left out; nil when it is none.
function t.time(timestamp)
  if type(timestamp) ~= "string" or #timestamp > 64 then
    return nil
  end
  local year, month, day, hour, minute, second, rest =
    timestamp:match("^(%d%d%d%d)-(%d%d)-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(.*)$")
  if not year then
    return nil
  end
  local zone = rest:gsub("^%.%d+", "")
  local offset = 0
  if zone ~= "Z" and zone ~= "z" then
    local sign, hours, minutes = zone:match("^([+-])(%d%d):(%d%d)$")
    if not sign then
      return nil
    end
    offset = (hours * 3600 + minutes * 60) * (sign == "+" and 1 or -1)
  end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
end

-- Seconds since an RFC 3339 time, negative when it is to come; nil when it cannot be read.
function t.age(timestamp)
  local time = t.time(timestamp)
  return time and require("os").time() - time
end

-- For what is fine for a while and wrong when it lasts: Progressing until it holds for so many seconds since the time,
-- and to be asked again then; Degraded from then on. A time that cannot be read is now.
function t.patience(since, seconds, message)
  local age = t.age(since)
  if not age then
    return t.progressing(message)
  end
  if age < seconds then
    return t.again(t.progressing(message), seconds - age)
  end
  return t.degraded(string.format("%s (for more than %s)", message, t.duration(seconds)))
end

-- Seconds for people: "45 s", "10 min", "36 h".
function t.duration(seconds)
  if seconds < 120 then
    return string.format("%d s", seconds // 1)
  end
  if seconds < 7200 then
    return string.format("%d min", seconds // 60)
  end
  return string.format("%d h", seconds // 3600)
end

return t
