--- Names, durations and times as all AceMQ libraries have them; metrics; and the memory broker.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local options = require("acemq.options")
local values = require("acemq.values")

local names = {}

local function derived(call, queue)
  local slot, name = errors.slot(), ffi.new("char[256]")
  errors.check(call(queue, name, slot), slot)
  return ffi.string(name)
end

--- `{queue}.dlq`
function names.dead_letter_queue(queue)
  return derived(lib.acemq_dead_letter_queue, queue)
end

--- `{queue}.parked`
function names.parked_queue(queue)
  return derived(lib.acemq_parked_queue, queue)
end

--- A new UUID.
function names.new_id()
  local id = ffi.new("char[37]")
  lib.acemq_new_id(id)
  return ffi.string(id)
end

--- "10s", "500ms" … in milliseconds.
function names.parse_duration(text)
  return values.integer(options.duration(text, "duration"))
end

--- Milliseconds in one unit: 40000 is "40s".
function names.format_duration(milliseconds)
  local slot, text = errors.slot(), ffi.new("char[24]")
  errors.check(lib.acemq_duration_format(milliseconds, text, slot), slot)
  return ffi.string(text)
end

--- An RFC 3339 time as seconds since 1970 and nanoseconds.
function names.parse_time(text)
  local slot, seconds, nanoseconds = errors.slot(), ffi.new("int64_t[1]"), ffi.new("int32_t[1]")
  errors.check(lib.acemq_time_parse(text, seconds, nanoseconds, slot), slot)
  return values.integer(seconds[0]), nanoseconds[0]
end

--- Milliseconds since 1970 as RFC 3339, in UTC and whole seconds.
function names.format_time(milliseconds)
  local slot, text = errors.slot(), ffi.new("char[21]")
  errors.check(lib.acemq_time_format(milliseconds, text, slot), slot)
  return ffi.string(text)
end

--- The library's version, and whether it has a feature: names.version(), names.has("postgres").
function names.version()
  return ffi.string(lib.acemq_version())
end

function names.has(feature)
  return lib.acemq_has(feature) == 1
end

--- The partition (from 0) of a key, by the rule "unsigned" (default), "java" or "dotnet".
function names.partition(key, partitions, rule)
  local number = lib.acemq_partition_rule_named(rule or "unsigned")
  if number < 0 then
    errors.raise("invalid_argument", ("there is no partition rule '%s'"):format(tostring(rule)), "rule")
  end
  return tonumber(lib.acemq_partition(values.view(key), partitions, number))
end

-- --- metrics ---

local Metrics = {}
Metrics.__index = Metrics

--- A registry that counts and times what happens on the connections it watches. `given`: series_limit.
function names.metrics(given)
  local struct = options.fill("metrics_options", { series_limit = "number" }, given)
  local slot, out = errors.slot(), ffi.new("acemq_metrics *[1]")
  errors.check(lib.acemq_metrics_new(struct, out, slot), slot)
  return setmetatable({ pointer = ffi.gc(out[0], lib.acemq_metrics_free) }, Metrics)
end

--- Counts what happens on a connection from now on: right after acemq.connect().
function Metrics:watch(mq)
  local slot = errors.slot()
  errors.check(lib.acemq_metrics_watch(errors.open(self.pointer, "the registry"), mq:handle(), slot), slot)
end

--- Everything in Prometheus' text format.
function Metrics:prometheus()
  local slot, out = errors.slot(), ffi.new("char *[1]")
  errors.check(lib.acemq_metrics_prometheus(errors.open(self.pointer, "the registry"), out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return text
end

--- Ends the program's hold. Again is fine.
function Metrics:close()
  if self.pointer ~= nil then
    local pointer = self.pointer
    self.pointer = nil
    lib.acemq_metrics_free(ffi.gc(pointer, nil))
  end
end

-- --- the memory broker ---

local Broker = {}
Broker.__index = Broker

--- A broker inside this program that listens on TCP, for tests: its `url` is for any AMQP client. `given`: host
-- (default "127.0.0.1"), port (default any free one).
function names.broker(given)
  given = given or {}
  options.known(given, { host = true, port = true })
  local slot, out, port = errors.slot(), ffi.new("acemq_broker *[1]"), ffi.new("int[1]")
  errors.check(lib.acemq_broker_start(out, slot), slot)
  local pointer, host = ffi.gc(out[0], lib.acemq_broker_free), given.host or "127.0.0.1"
  errors.check(lib.acemq_broker_listen(pointer, host, given.port or 0, port, slot), slot)
  return setmetatable({ pointer = pointer, url = ("amqp://guest:guest@%s:%d/"):format(host, port[0]) }, Broker)
end

--- Ends it and its connections. Again is fine.
function Broker:close()
  if self.pointer ~= nil then
    local pointer = self.pointer
    self.pointer = nil
    lib.acemq_broker_free(ffi.gc(pointer, nil))
  end
end

return names
