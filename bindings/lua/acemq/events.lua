--- What happens outside any call, as tables: `kind`, `number`, `text`, `error`, and what belongs to the kind.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local values = require("acemq.values")

local events = {}

--- Kinds by name, as in the option `on` of acemq.connect(). Confirms and wanted credentials are the module's own.
events.kinds = {
  connection = lib.ACEMQ_EVENT_CONNECTION,
  settle_failed = lib.ACEMQ_EVENT_SETTLE_FAILED,
  consumer_ended = lib.ACEMQ_EVENT_CONSUMER_ENDED,
  log = lib.ACEMQ_EVENT_LOG,
  interceptor_failed = lib.ACEMQ_EVENT_INTERCEPTOR_FAILED,
  settled = lib.ACEMQ_EVENT_SETTLED,
  metric = lib.ACEMQ_EVENT_METRIC,
  partition_halted = lib.ACEMQ_EVENT_PARTITION_HALTED,
  order_gap = lib.ACEMQ_EVENT_ORDER_GAP,
}

local NAMES = {}
for name, kind in pairs(events.kinds) do
  NAMES[kind] = name
end

events.levels = { none = 0, error = 1, warning = 2, info = 3, debug = 4 }
local LEVEL_NAMES = { "error", "warning", "info", "debug" }

--- States of a connection by number.
events.states = { "open", "blocked", "reconnecting", "failed", "closed" }

local METRIC_KINDS = { "counter", "gauge", "duration", "distribution" }

-- calls: acemq_settlement_queue acemq_settlement_exchange acemq_settlement_routing_key acemq_settlement_id
-- calls: acemq_settlement_type acemq_settlement_correlation acemq_settlement_outcome acemq_settlement_traceparent
-- calls: acemq_settlement_tracestate
local function settlement_of(settlement)
  local out = {
    attempt = lib.acemq_settlement_attempt(settlement),
    microseconds = values.integer(lib.acemq_settlement_microseconds(settlement)),
  }
  for _, name in ipairs({ "queue", "exchange", "routing_key", "id", "type", "correlation", "outcome", "traceparent",
    "tracestate" }) do
    out[name] = ffi.string(lib["acemq_settlement_" .. name](settlement))
  end
  return out
end

local function observation_of(observation)
  local labels = {}
  for index = 0, tonumber(lib.acemq_observation_label_count(observation)) - 1 do
    labels[ffi.string(lib.acemq_observation_label(observation, index))] =
      ffi.string(lib.acemq_observation_label_value(observation, index))
  end
  return {
    name = ffi.string(lib.acemq_observation_name(observation)),
    kind = METRIC_KINDS[tonumber(lib.acemq_observation_kind(observation))],
    value = lib.acemq_observation_value(observation),
    labels = labels,
  }
end

local DETAILS = {
  connection = function(event, of)
    of.state = events.states[of.number]
    of.next_try = values.integer(lib.acemq_event_next_try(event))
  end,
  log = function(_, of)
    of.level = LEVEL_NAMES[of.number]
  end,
  settled = function(event, of)
    of.settlement = settlement_of(lib.acemq_event_settlement(event))
  end,
  metric = function(event, of)
    of.observation = observation_of(lib.acemq_event_observation(event))
  end,
}

--- A table from an event.
function events.read(event)
  local of = {
    kind = NAMES[tonumber(lib.acemq_event_get_kind(event))],
    number = values.integer(lib.acemq_event_number(event)),
    text = ffi.string(lib.acemq_event_text(event)),
    error = errors.read(lib.acemq_event_error(event)),
  }
  local details = DETAILS[of.kind]
  if details then
    details(event, of)
  end
  return of
end

return events
