--- Retry policies: how often, how long between, and where the waiting happens.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local options = require("acemq.options")
local values = require("acemq.values")

local policy = {}

local Policy = {}
Policy.__index = Policy

local function own(handle)
  return setmetatable({ handle = ffi.gc(handle, lib.acemq_policy_free) }, Policy)
end

local SETTERS = {
  give_up_after = { "duration", function(handle, value) lib.acemq_policy_give_up_after(handle, value) end },
  threshold = { "duration", function(handle, value) lib.acemq_policy_threshold(handle, value) end },
  jitter = { "number", function(handle, value) lib.acemq_policy_jitter(handle, value) end },
  multiplier = { "number", function(handle, value) lib.acemq_policy_multiplier(handle, value) end },
  whole_second_names = { "flag", function(handle) lib.acemq_policy_whole_second_names(handle) end },
  durable_rungs = { "flag", function(handle) lib.acemq_policy_durable_rungs(handle) end },
}

local function finished(self, further)
  options.known(further, SETTERS)
  for name, value in pairs(further or {}) do
    local setter = SETTERS[name]
    if setter[1] == "duration" then
      value = options.duration(value, name)
    end
    if value ~= false then
      setter[2](self.handle, value)
    end
  end
  local slot = errors.slot()
  errors.check(lib.acemq_policy_check(self.handle, slot), slot)
  return self
end

--- Reads a policy's text, such as "exponential(5, 10s, 5m).giveUpAfter(2h)".
function policy.parse(text)
  local slot, out = errors.slot(), ffi.new("acemq_policy *[1]")
  errors.check(lib.acemq_policy_parse(text, out, slot), slot)
  return own(out[0])
end

--- One attempt, no waits.
function policy.none()
  return own(lib.acemq_policy_none())
end

--- `attempts` in all, `wait` between two. `further`: give_up_after, threshold (durations), jitter (0 to 1), multiplier,
-- whole_second_names, durable_rungs.
function policy.fixed(attempts, wait, further)
  return finished(own(lib.acemq_policy_fixed(attempts, options.duration(wait, "wait"))), further)
end

--- Waits that double from `initial`, at most `max` (0 or nil: no cap).
function policy.exponential(attempts, initial, max, further)
  local handle = lib.acemq_policy_exponential(attempts, options.duration(initial, "initial"),
    options.duration(max or 0, "max"))
  return finished(own(handle), further)
end

--- A policy from a text or a policy.
function policy.of(value, field)
  if type(value) == "string" then
    return policy.parse(value)
  elseif getmetatable(value) == Policy then
    return value
  end
  return errors.raise("invalid_argument", ("option '%s' wants a policy or its text and has a %s"):format(
    field or "retry", type(value)), field or "retry")
end

--- Its text.
function Policy:__tostring()
  local slot, out = errors.slot(), ffi.new("char *[1]")
  errors.check(lib.acemq_policy_format(self.handle, out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return text
end

--- How many attempts there are in all.
function Policy:attempts()
  return values.integer(lib.acemq_policy_max_attempts(self.handle))
end

--- The unjittered wait after attempt `attempt` (from 1), in ms; 0 where there is none.
function Policy:wait(attempt)
  return values.integer(lib.acemq_policy_wait(self.handle, attempt))
end

--- Whether a message that failed its attempt `attempt` at `age` ms (nil: unknown) is tried again.
function Policy:retries(attempt, age)
  return lib.acemq_policy_retries(self.handle, attempt, age or -1) == 1
end

--- The age at which a message is given up, in ms; 0: none.
function Policy:max_age()
  return values.integer(lib.acemq_policy_max_age(self.handle))
end

--- Waits of at least this, in ms, go to the broker; 0: none does.
function Policy:threshold()
  return values.integer(lib.acemq_policy_broker_threshold(self.handle))
end

--- How far a wait held in the consumer may stray, 0 to 1; and such a wait, given a draw in [-1, 1).
function Policy:jitter()
  return lib.acemq_policy_jitter_factor(self.handle)
end

function Policy:jittered(delay, unit)
  return values.integer(lib.acemq_policy_jittered(self.handle, delay, unit))
end

local function rung_name(self, queue, delay)
  local name, slot = ffi.new("char[256]"), errors.slot()
  errors.check(lib.acemq_policy_rung_name(self.handle, queue, delay, name, slot), slot)
  return ffi.string(name)
end

--- Where a wait of `delay` happens: "broker" and the rung's queue, or "consumer".
function Policy:place(queue, delay)
  if lib.acemq_policy_waits_in_broker(self.handle, delay) ~= 1 then
    return "consumer"
  end
  return "broker", rung_name(self, queue, lib.acemq_policy_choose_rung(self.handle, delay))
end

--- The arguments that the rung of `delay` is declared with, as JSON text.
function Policy:rung_arguments(queue, delay)
  local slot, out, text = errors.slot(), ffi.new("acemq_table *[1]"), ffi.new("char *[1]")
  errors.check(lib.acemq_policy_rung_arguments(self.handle, queue, delay, out, slot), slot)
  local arguments = ffi.gc(out[0], lib.acemq_table_free)
  errors.check(lib.acemq_table_format_json(arguments, 0, text, slot), slot)
  local written = ffi.string(text[0])
  lib.acemq_free(text[0])
  return written
end

--- The delays of the rungs, in ms, and their queues' names for a consumer of `queue`.
function Policy:rungs(queue)
  local rungs = {}
  for index = 0, tonumber(lib.acemq_policy_rung_count(self.handle)) - 1 do
    local delay = lib.acemq_policy_rung_delay(self.handle, index)
    rungs[#rungs + 1] = { delay = values.integer(delay), queue = rung_name(self, queue, delay) }
  end
  return rungs
end

return policy
