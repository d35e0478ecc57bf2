--- libacemq for LuaJIT: messages on RabbitMQ that survive what happens to them.
--
--   local acemq = require("acemq")
--   local mq = acemq.connect("amqp://guest:guest@127.0.0.1/")
--
-- docs/lua.md is the guide. Durations are milliseconds, or texts such as "10s". What fails raises an error of
-- errors.lua.
local codec = require("acemq.codec")
local connection = require("acemq.connection")
local consumer = require("acemq.consumer")
local errors = require("acemq.errors")
local frames = require("acemq.frames")
local idempotency = require("acemq.idempotency")
local loop = require("acemq.loop")
local message = require("acemq.message")
local names = require("acemq.names")
local ordered = require("acemq.ordered")
local outbox = require("acemq.outbox")
local policy = require("acemq.policy")
local replay = require("acemq.replay")
local topology = require("acemq.topology")
local values = require("acemq.values")

local acemq = {
  connect = connection.connect,
  loop = loop.new,
  broker = names.broker,
  metrics = names.metrics,
  idempotency = idempotency.open,
  outbox = outbox.open,
  outbox_statement = outbox.statement,
  schema_postgres = idempotency.schema,
  validate = topology.validate,
  plan = topology.plan,
  consumer_plan = topology.consumer_plan,
  envelope = frames.envelope,
  frames = frames,
  raw = values.raw,
  is_raw = values.is_raw,
  codec_reads = codec.reads,
  codec_check = codec.check,
  policy = policy,
  codec = codec.new,
  encrypted = codec.encrypted,
  claim_check = codec.claim_check,
  verbatim = message.verbatim,
  ordered_queue = ordered.queue,
  is_error = errors.is,
  codes = errors.codes,
  json = require("acemq.json"),
  msgpack = require("acemq.msgpack"),
}

for _, name in ipairs({ "null", "array", "bytes", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
  "uint64", "float", "double", "timestamp", "decimal" }) do
  acemq[name] = values[name]
end
for _, name in ipairs({ "dead_letter_queue", "parked_queue", "new_id", "parse_duration", "format_duration",
  "parse_time", "format_time", "partition", "version", "has" }) do
  acemq[name] = names[name]
end

local Connection = connection.methods

-- What is no handler would fail every message.
local function open(self, name, kind, handler, given)
  if type(handler) == "table" and given == nil and not consumer.is_callable(handler) then
    handler, given = nil, handler
  end
  if handler ~= nil and not consumer.is_callable(handler) then
    errors.raise("invalid_argument", "the handler is a " .. type(handler) .. " and not a function", "handler")
  end
  local one = consumer.open(self, name, kind, given)
  return handler and one:start(handler) or one
end

--- Has each message of a queue handled by a function, one at a time, while run() does. It gets the message and answers
-- nothing or true for done, "failed", "rejected" or "parked" with a reason, or false as failed; an error of any type
-- fails the message. It may settle the message by itself. Without a handler the consumer is for next() and messages().
-- `given`: retry (a policy or its text), codec, prefetch, prefetch_bytes, arguments, tag, timeout, declare ("yes" or
-- "verify"), requeue_on_failure, exclusive, acknowledgement_limit, idempotency, lease, put_back_wait, renew, claim_key.
function Connection:consume(queue, handler, given)
  return open(self, queue, "consumer", handler, given)
end

--- As consume(), with up to `members` handlers at once, each a coroutine of the loop. `given` besides: members (default
-- 2), drain_budget.
function Connection:group(queue, handler, given)
  return open(self, queue, "group", handler, given)
end

--- The messages of each key in their order, over partition queues. `given` besides: partitions (default 8), failure
-- ("stop", "retry_in_place" or "skip").
function Connection:ordered(name, handler, given)
  return open(self, name, "ordered", handler, given)
end

--- Publishes to the partition queue of a key, and waits. `given`: the options of publish(), partitions, rule.
function Connection:publish_ordered(name, key, payload, given)
  local queue, send = ordered.queue(name, key, given), {}
  for option, value in pairs(given or {}) do
    send[option] = value
  end
  send.partitions, send.rule = nil, nil
  self:publish(queue, payload, send)
end

--- Declares queues, exchanges and bindings: a table as in docs/topology.md, or the name of a queue alone.
Connection.declare = topology.apply
Connection.dry_run = topology.dry_run
Connection.replay = replay.run
Connection.pending = replay.pending
Connection.browse = replay.browse
Connection.count = replay.count
Connection.purge = replay.purge
Connection.delete_queue = replay.delete
Connection.relay = outbox.relay

-- mq.publish(…) where mq:publish(…) is meant takes its first argument for the connection.
for name, method in pairs(Connection) do
  if type(method) == "function" and not name:find("^__") then
    Connection[name] = function(self, ...)
      if getmetatable(self) ~= Connection then
        errors.raise("invalid_argument", ("%s is called with a colon: mq:%s(…)"):format(name, name), "self")
      end
      return method(self, ...)
    end
  end
end

return acemq
