--- The outbox: messages written in a transaction, and published afterwards by a relay.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local loop = require("acemq.loop")
local message = require("acemq.message")
local options = require("acemq.options")
local values = require("acemq.values")

local outbox = {}

local Outbox = {}
Outbox.__index = Outbox

local OF_ENQUEUE = { exchange = true, timeout = true }
local PLACEHOLDERS = { ["$1"] = lib.ACEMQ_PLACEHOLDER_DOLLAR, ["?"] = lib.ACEMQ_PLACEHOLDER_QUESTION,
  ["%s"] = lib.ACEMQ_PLACEHOLDER_PERCENT }

--- Opens one: "memory:", "lmdb:PATH" or a "postgresql://" URL. `given`: name, timeout, attempts.
function outbox.open(where, given)
  local struct, anchors = options.fill("outbox_options", { name = "text", timeout = "duration", attempts = "number" },
    given)
  local slot, out = errors.slot(), ffi.new("acemq_outbox *[1]")
  errors.check(lib.acemq_outbox_open(options.text(where, "where"), struct, out, slot), slot)
  return setmetatable({ handle = ffi.gc(out[0], lib.acemq_outbox_free), anchors = anchors }, Outbox)
end

local function handle(self)
  return errors.open(self.handle, "the outbox")
end

local function timeout_of(timeout)
  return options.duration(timeout or 30000, "timeout")
end

--- Writes a message in a transaction of its own; answers its id. `given`: the options of a message, exchange, timeout.
function Outbox:enqueue(queue, payload, given)
  given = given or {}
  local built = message.build(payload, given, nil, OF_ENQUEUE)
  local slot, id = errors.slot(), ffi.new("char[257]")
  errors.check(lib.acemq_outbox_enqueue(handle(self), options.text(given.exchange or "", "exchange"),
    options.text(queue, "queue"), built, timeout_of(given.timeout), id,
    slot), slot)
  return ffi.string(id)
end

--- One INSERT for a driver and a transaction of the application's own: its text, its parameters (all of them texts),
-- and the message's id. `given`: the options of a message, exchange, table, placeholder ("$1", "?" or "%s").
function outbox.statement(queue, payload, given)
  given = given or {}
  local built = message.build(payload, given, nil, { exchange = true, table = true, placeholder = true })
  local placeholder = options.one_of(PLACEHOLDERS)(given.placeholder or "$1", "placeholder")
  local slot, out = errors.slot(), ffi.new("acemq_outbox_statement *[1]")
  errors.check(lib.acemq_outbox_statement_new(options.text(given.table, "table"), placeholder,
    options.text(given.exchange or "", "exchange"), options.text(queue, "queue"), built, out, slot),
    slot)
  local statement, parameters = ffi.gc(out[0], lib.acemq_outbox_statement_free), {}
  for index = 0, tonumber(lib.acemq_outbox_statement_count(statement)) - 1 do
    parameters[#parameters + 1] = ffi.string(lib.acemq_outbox_statement_value(statement, index))
  end
  return ffi.string(lib.acemq_outbox_statement_text(statement)), parameters,
    ffi.string(lib.acemq_outbox_statement_id(statement))
end

local function rows_of(list)
  local owned, row, rows = ffi.gc(list, lib.acemq_outbox_list_free), ffi.new("acemq_outbox_row"), {}
  row.size = ffi.sizeof(row)
  for index = 0, tonumber(lib.acemq_outbox_list_count(owned)) - 1 do
    local slot = errors.slot()
    errors.check(lib.acemq_outbox_list_row(owned, index, row, slot), slot)
    rows[#rows + 1] = {
      id = ffi.string(row.id),
      exchange = ffi.string(row.exchange),
      routing_key = ffi.string(row.routing_key),
      content_type = ffi.string(row.content_type),
      headers = ffi.string(row.headers),
      last_error = ffi.string(row.last_error),
      body = ffi.string(row.body.data, row.body.length),
      created_at = values.integer(row.created_at),
      leased_until = values.integer(row.leased_until),
      attempts = row.attempts,
    }
  end
  return rows
end

--- What is not published yet, in order, up to `max` rows (default 100).
function Outbox:pending(max, timeout)
  local slot, out = errors.slot(), ffi.new("acemq_outbox_list *[1]")
  errors.check(lib.acemq_outbox_pending(handle(self), max or 100, timeout_of(timeout), out, slot), slot)
  return rows_of(out[0])
end

--- What has used its attempts, likewise; it stays until release().
function Outbox:retired(max, timeout)
  local slot, out = errors.slot(), ffi.new("acemq_outbox_list *[1]")
  errors.check(lib.acemq_outbox_retired(handle(self), max or 100, timeout_of(timeout), out, slot), slot)
  return rows_of(out[0])
end

--- pending, retired, published, and oldest_age (ms).
function Outbox:count(timeout)
  local slot, counts = errors.slot(), ffi.new("acemq_outbox_counts")
  counts.size = ffi.sizeof(counts)
  errors.check(lib.acemq_outbox_count(handle(self), timeout_of(timeout), counts, slot), slot)
  return options.counters(counts, { "pending", "retired", "published", "oldest_age" })
end

--- A retired message (nil: all) is pending again; answers how many.
function Outbox:release(id, timeout)
  local slot, released = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_outbox_release(handle(self), id, timeout_of(timeout), released, slot), slot)
  return values.integer(released[0])
end

--- Deletes what was published at least `age` ago; answers how many.
function Outbox:purge_published(age, timeout)
  local slot, purged = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_outbox_purge_published(handle(self), options.duration(age, "age"), timeout_of(timeout), purged,
    slot), slot)
  return values.integer(purged[0])
end

--- Closes it here; relays that have it go on. Again is fine.
function Outbox:close()
  if self.handle ~= nil then
    local pointer = self.handle
    self.handle = nil
    lib.acemq_outbox_free(ffi.gc(pointer, nil))
  end
end

-- --- relays ---

local Relay = {}
Relay.__index = Relay

--- Starts a relay, which publishes what the outbox holds on a thread of the library. `given`: every, lease (durations),
-- batch.
function outbox.relay(mq, from, given)
  local struct = options.fill("relay_options", { every = "duration", lease = "duration", batch = "number" }, given)
  local slot, out = errors.slot(), ffi.new("acemq_relay *[1]")
  errors.check(lib.acemq_relay_start(mq:handle(), handle(from), struct, out, slot), slot)
  return setmetatable({ connection = mq, outbox = from, pointer = ffi.gc(out[0], lib.acemq_relay_free) }, Relay)
end

local function running(self)
  return errors.open(self.pointer, "the relay")
end

--- Looks at the outbox at once.
function Relay:wake()
  lib.acemq_relay_wake(running(self))
end

-- A pass counts what it has published at its end, a moment after nothing is pending any more.
local function await_pass(self)
  local passes, ends = self:count().passes, loop.now() + 1000
  self:wake()
  while self:count().passes == passes and not self.stopped and loop.now() < ends do
    loop.wait(self.connection, {}, math.min(ends, loop.now() + 2))
  end
end

--- Waits until nothing is pending, what another relay has included. Raises `timeout`, and `closed` once it was stopped.
function Relay:drain(timeout)
  local deadline = loop.deadline(timeout or 30000)
  self:wake()
  while self.outbox:count().pending > 0 do -- the library's own drain would hold up the coroutines of this thread
    if self.stopped then
      errors.raise("closed", "the relay was stopped")
    elseif loop.now() >= deadline then
      errors.raise("timeout", "messages are still pending in the outbox")
    end
    loop.wait(self.connection, {}, math.min(deadline, loop.now() + 10))
  end
  await_pass(self)
end

--- What it has done: published, failed, retired, passes.
function Relay:count()
  local slot, counters = errors.slot(), ffi.new("acemq_relay_counters")
  counters.size = ffi.sizeof(counters)
  errors.check(lib.acemq_relay_count(running(self), counters, slot), slot)
  return options.counters(counters, { "published", "failed", "retired", "passes" })
end

--- Takes nothing more, and waits until what is under way is published. Raises `timeout` when something was cut off.
function Relay:stop(timeout)
  local slot = errors.slot()
  self.stopped = true
  errors.check(lib.acemq_relay_stop(running(self), options.duration(timeout or 20000, "timeout"), slot), slot)
end

--- Stops it, and lets it go. Again is fine.
function Relay:close()
  if self.pointer ~= nil then
    local pointer = self.pointer
    self.pointer = nil
    lib.acemq_relay_free(ffi.gc(pointer, nil))
  end
end

return outbox
