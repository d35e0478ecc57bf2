--- Topologies: tables as `acemq topology` reads them from a file, planned, compared with the broker, and declared.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local json = require("acemq.json")
local options = require("acemq.options")
local policy = require("acemq.policy")
local values = require("acemq.values")

local topology = {}

local ALIASES = { dead_letter = "deadLetter", routing_key = "key" }
local STATES = { [0] = "unknown", "create", "present", "differs" }
local KINDS = { "exchange", "queue", "binding" }

local function entry_of(entry)
  local out = {}
  for name, value in pairs(entry) do
    if name == "retry" then
      value = tostring(value)
    end
    out[ALIASES[name] or name] = value
  end
  return out
end

-- A string alone is a quorum queue of that name, whose dead letters the broker keeps.
local function document_of(description)
  if values.is_raw(description) then
    return description.text
  end
  if type(description) == "string" then
    description = { queues = { { name = description, dead_letter = true } } }
  end
  local out = {}
  for section, entries in pairs(description) do
    local list = values.array({})
    for _, entry in ipairs(entries) do
      list[#list + 1] = entry_of(entry)
    end
    out[section] = list
  end
  return json.encode(out)
end

local function parse(description)
  local text, slot, out = document_of(description), errors.slot(), ffi.new("acemq_topology *[1]")
  errors.check(lib.acemq_topology_parse(text, #text, out, slot), slot)
  return ffi.gc(out[0], lib.acemq_topology_free)
end

local function arguments_of(plan, index)
  local slot, out = errors.slot(), ffi.new("char *[1]")
  local arguments = lib.acemq_plan_arguments(plan, index)
  if arguments == nil then
    return {}
  end
  errors.check(lib.acemq_table_format_json(arguments, 0, out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return json.decode(text)
end

local function list_of(plan)
  local list = { drift = lib.acemq_plan_has_drift(plan) == 1 }
  for index = 0, tonumber(lib.acemq_plan_count(plan)) - 1 do
    list[#list + 1] = {
      kind = KINDS[tonumber(lib.acemq_plan_get_kind(plan, index))],
      state = STATES[tonumber(lib.acemq_plan_get_state(plan, index))],
      name = ffi.string(lib.acemq_plan_name(plan, index)),
      type = ffi.string(lib.acemq_plan_type(plan, index)),
      exchange = ffi.string(lib.acemq_plan_exchange(plan, index)),
      routing_key = ffi.string(lib.acemq_plan_routing_key(plan, index)),
      arguments = arguments_of(plan, index),
      differing = ffi.string(lib.acemq_plan_differing(plan, index)),
      ours = ffi.string(lib.acemq_plan_ours(plan, index)),
      theirs = ffi.string(lib.acemq_plan_theirs(plan, index)),
    }
  end
  lib.acemq_plan_free(plan)
  return list
end

--- Without a broker: raises what is wrong by name.
function topology.validate(description)
  local slot = errors.slot()
  errors.check(lib.acemq_topology_validate(parse(description), slot), slot)
end

--- What would be declared, in its order: tables of kind, state, name, type, exchange, routing_key, arguments,
-- differing, ours and theirs; the list's `drift` is true when something is missing or differs.
function topology.plan(description)
  local slot, out = errors.slot(), ffi.new("acemq_plan *[1]")
  errors.check(lib.acemq_topology_plan(parse(description), out, slot), slot)
  return list_of(out[0])
end

--- The same, of what a consumer of `queue` with the policy `retry` (nil: none) declares.
function topology.consumer_plan(queue, retry)
  local built = ffi.gc(lib.acemq_topology_new(), lib.acemq_topology_free)
  lib.acemq_topology_consumer(built, queue, retry and policy.of(retry).handle or nil)
  local slot, out = errors.slot(), ffi.new("acemq_plan *[1]")
  errors.check(lib.acemq_topology_plan(built, out, slot), slot)
  return list_of(out[0])
end

--- Compares with the broker and changes nothing.
function topology.dry_run(mq, description, timeout)
  local slot, out = errors.slot(), ffi.new("acemq_plan *[1]")
  local milliseconds = options.duration(timeout or 30000, "timeout")
  errors.check(lib.acemq_topology_dry_run(mq:handle(), parse(description), milliseconds, out, slot), slot)
  return list_of(out[0])
end

--- Declares; raises `differs`, whose `plan` says what, when the broker has something otherwise.
function topology.apply(mq, description, timeout)
  local slot, out = errors.slot(), ffi.new("acemq_plan *[1]")
  local milliseconds = options.duration(timeout or 30000, "timeout")
  local status = lib.acemq_topology_apply(mq:handle(), parse(description), milliseconds, out, slot)
  local list = out[0] ~= nil and list_of(out[0]) or nil
  if status ~= 0 then
    local err = errors.take(slot)
    err.plan = list
    error(err, 0)
  end
  return list
end

return topology
