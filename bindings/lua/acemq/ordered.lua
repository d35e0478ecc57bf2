--- Messages of one key in their order: what only ordered consuming has, and publishing into its queues.
local ffi = require("ffi")
local lib = require("acemq.library")
local consumer = require("acemq.consumer")
local errors = require("acemq.errors")
local options = require("acemq.options")
local values = require("acemq.values")

local ordered = {}

local Consumer = consumer.methods

local function wants_ordered(self)
  if self.kind_name ~= "ordered" then
    errors.raise("unsupported", "only an ordered consumer has partitions")
  end
  return errors.open(self.pointer, "the ordered consumer")
end

--- Whether a partition (from 0) is halted, and the error that says at which message and why.
function Consumer:halted(partition)
  local why = errors.slot()
  local halted = lib.acemq_ordered_halted(wants_ordered(self), partition, why) == 1
  local err = errors.read(why[0])
  lib.acemq_error_free(why[0])
  return halted, err
end

--- The messages that were passed over, oldest first: partition, id, reason, time, parked; and how many there ever were.
function Consumer:gaps()
  local slot, out = errors.slot(), ffi.new("acemq_gaps *[1]")
  errors.check(lib.acemq_ordered_get_gaps(wants_ordered(self), out, slot), slot)
  local gaps = ffi.gc(out[0], lib.acemq_gaps_free)
  local list = {}
  for index = 0, tonumber(lib.acemq_gaps_count(gaps)) - 1 do
    list[#list + 1] = {
      partition = tonumber(lib.acemq_gaps_partition(gaps, index)),
      id = ffi.string(lib.acemq_gaps_id(gaps, index)),
      reason = ffi.string(lib.acemq_gaps_reason(gaps, index)),
      time = values.integer(lib.acemq_gaps_time(gaps, index)),
      parked = lib.acemq_gaps_parked(gaps, index) == 1,
    }
  end
  return list, values.integer(lib.acemq_gaps_total(gaps))
end

--- The partition queue of a key. `given`: partitions (default 8), rule ("unsigned", "java" or "dotnet").
function ordered.queue(name, key, given)
  given = given or {}
  local function rule(value)
    local number = lib.acemq_partition_rule_named(tostring(value))
    if number < 0 then
      errors.raise("invalid_argument", ("there is no partition rule '%s'"):format(tostring(value)), "rule")
    end
    return number
  end
  if type(key) ~= "string" then
    errors.raise("invalid_argument", "the key of an ordered message is no string", "key")
  end
  local struct = options.fill("partitioning", { partitions = "number", rule = rule },
    { partitions = given.partitions, rule = given.rule })
  local slot, queue = errors.slot(), ffi.new("char[256]")
  errors.check(lib.acemq_ordered_queue(options.text(name, "name"), struct, values.view(key), nil, queue, slot), slot)
  return ffi.string(queue)
end

return ordered
