--- Consuming: one queue (consumer), several handlers at once (group), or keys in their order (ordered).
local ffi = require("ffi")
local lib = require("acemq.library")
local codec = require("acemq.codec")
local connection = require("acemq.connection")
local errors = require("acemq.errors")
local idempotency = require("acemq.idempotency")
local loop = require("acemq.loop")
local options = require("acemq.options")
local policy = require("acemq.policy")
local received = require("acemq.received")
local values = require("acemq.values")

local consumer = {}

local Consumer = {}
Consumer.__index = Consumer
consumer.methods = Consumer

local COUNTERS = { "acknowledged", "rejected", "retried", "dead_lettered", "parked", "duplicates", "in_flight",
  "waiting", "delivered", "hops_failed", "rungs_missing", "in_progress", "store_failures", "fenced", "unconfirmed" }

-- A store, or the address of one that is this consumer's own.
local function store_of(value, field)
  if type(value) == "string" then
    return idempotency.open(value).handle
  elseif type(value) ~= "table" or value.handle == nil then
    errors.raise("invalid_argument", ("option '%s' wants a store of acemq.idempotency() or its address"):format(field),
      field)
  end
  return value.handle
end

local OF_CONSUMER = {
  retry = function(value, field) return policy.of(value, field).handle end,
  arguments = function(value) return values.table_of(value, "arguments") end,
  tag = "text", timeout = "duration", prefetch_bytes = "number", acknowledgement_limit = "duration",
  prefetch = "number",
  declare = options.one_of({ yes = lib.ACEMQ_DECLARE_YES, verify = lib.ACEMQ_DECLARE_VERIFY }),
  requeue_on_failure = "flag", exclusive = "flag", idempotency = store_of,
  lease = "duration", put_back_wait = "duration", renew = "flag",
}
local OF_BINDING = { codec = true, claim_key = true, members = true, drain_budget = true, partitions = true,
  failure = true }
local FAILURES = { stop = lib.ACEMQ_ORDER_STOP, retry_in_place = lib.ACEMQ_ORDER_RETRY_IN_PLACE,
  skip = lib.ACEMQ_ORDER_SKIP }

-- Called by the library inside next(), in this thread; an error must not pass through it.
local function claim_key_callback(claim_key)
  return ffi.cast("acemq_claim_key", function(delivery, room, size)
    local message = received.borrow(delivery)
    local fine, key = pcall(claim_key, message)
    message:release()
    if not fine or type(key) ~= "string" then
      return -1
    end
    local length = math.min(#key, tonumber(size) - 1)
    if length >= 0 then
      ffi.copy(room, key, length)
      room[length] = 0
    end
    return #key
  end)
end

local function consumer_options(given)
  local struct, anchors = options.fill("consumer_options", OF_CONSUMER, given, OF_BINDING)
  local one = codec.of(given.codec)
  struct.codec = one.handle
  anchors[#anchors + 1] = one
  local callback
  if given.claim_key then
    callback = claim_key_callback(given.claim_key)
    struct.claim_key = callback
  end
  return struct, anchors, callback
end

-- --- the three kinds ---

local KINDS = {
  consumer = { slot = ffi.typeof("acemq_consumer *[1]") },
  group = { slot = ffi.typeof("acemq_group *[1]") },
  ordered = { slot = ffi.typeof("acemq_ordered *[1]") },
}
-- calls: acemq_consumer_open acemq_consumer_next acemq_consumer_wake acemq_consumer_fd acemq_consumer_close
-- calls: acemq_consumer_free acemq_consumer_pause acemq_consumer_resume acemq_consumer_paused
-- calls: acemq_consumer_subscribed acemq_consumer_get_counters acemq_consumer_drain acemq_group_open acemq_group_next
-- calls: acemq_group_wake acemq_group_fd acemq_group_close acemq_group_free acemq_group_pause acemq_group_resume
-- calls: acemq_group_paused acemq_group_subscribed acemq_group_get_counters acemq_group_drain acemq_ordered_open
-- calls: acemq_ordered_next acemq_ordered_wake acemq_ordered_fd acemq_ordered_close acemq_ordered_free
-- calls: acemq_ordered_pause acemq_ordered_paused acemq_ordered_subscribed acemq_ordered_get_counters
-- calls: acemq_ordered_drain
for name, kind in pairs(KINDS) do
  for _, verb in ipairs({ "open", "next", "wake", "fd", "close", "free", "pause", "resume", "paused", "subscribed",
    "get_counters", "drain" }) do
    kind[verb] = lib["acemq_" .. name .. "_" .. verb]
  end
end

function KINDS.consumer.options(struct)
  return struct
end

-- A token that ends the one call that would wait for handlers of this very thread.
local function new_token()
  local slot, out = errors.slot(), ffi.new("acemq_cancel *[1]")
  errors.check(lib.acemq_cancel_new(out, slot), slot)
  return ffi.gc(out[0], lib.acemq_cancel_free)
end

function KINDS.group.options(struct, given)
  local outer = options.fill("group_options", { drain_budget = "duration", members = "number" },
    { drain_budget = given.drain_budget, members = given.members })
  outer.consumer = struct
  return outer
end

function KINDS.ordered.options(struct, given)
  local outer = options.fill("ordered_options", { partitions = "number", failure = options.one_of(FAILURES) },
    { partitions = given.partitions, failure = given.failure })
  outer.consumer = struct
  return outer
end

local delivery_slot = ffi.typeof("acemq_delivery *[1]")

--- Opens one: see Connection:consume(), group() and ordered().
function consumer.open(mq, queue, kind_name, given)
  given = given or {}
  local kind = KINDS[kind_name]
  local struct, anchors, callback = consumer_options(given)
  local slot, out, token = errors.slot(), kind.slot(), nil
  if kind_name == "group" then
    token = new_token()
    struct.cancel = token
  end
  local status = kind.open(mq:handle(), options.text(queue, "queue"), kind.options(struct, given), out, slot)
  if status ~= 0 then
    if callback then
      callback:free()
    end
    errors.check(status, slot)
  end
  -- The callback's slot is one of few: it goes with the library's handle, whoever frees that.
  local function free(pointer)
    kind.free(pointer)
    if callback then
      callback:free()
    end
  end
  local at_once = kind_name == "consumer" and 1 or given.members or given.partitions or kind_name == "group" and 2 or 8
  return setmetatable({ connection = mq, queue = queue, kind = kind, kind_name = kind_name,
    pointer = ffi.gc(out[0], callback and free or kind.free), free = free,
    codec = codec.of(given.codec or mq.codec), members = at_once,
    anchors = anchors, token = token }, Consumer)
end

local function handle(self)
  return errors.open(self.pointer, "the consumer of '" .. self.queue .. "'")
end

-- Calls claim_key: never from compiled code, which callbacks must not interrupt.
local function take(self)
  local slot, out = errors.slot(), delivery_slot()
  local status = self.kind.next(handle(self), 0, out, slot)
  if status == 0 then
    return received.own(out[0])
  end
  return nil, errors.take(slot)
end
jit.off(take)

-- False when it does not decode: it is parked, or tried again where only a store failed.
local function decoded(self, message)
  local fine, value, may_later = codec.decode(self.codec, message.payload, message.content_type)
  if fine then
    rawset(message, "body", value)
    return true
  end
  local settled, raised = pcall(may_later and message.fail or message.park, message, value)
  if not settled and not errors.is(raised) then
    error(raised, 0)
  end
  return false
end

local function put_back_left(self)
  local left = self.iterated
  self.iterated = nil
  if left and not left.settled then
    left:release()
  end
end

--- The next message; nil when none came within `timeout` (nil: wait without a limit), or wake() was called. It has to
-- be settled: message:accept(), fail(), reject(), park() or put_back(); one that is dropped goes back to its queue.
-- Inside a coroutine of spawn() it yields. Raises `closed`, and what ended the consumer.
function Consumer:next(timeout)
  put_back_left(self)
  local deadline = loop.deadline(timeout)
  while true do
    local message, err = take(self)
    if message then
      if decoded(self, message) then
        return message
      end
    elseif err.name == "cancelled" then
      return nil
    elseif err.name ~= "timeout" then
      error(err, 0)
    elseif not loop.wait(self.connection, { fd = self.kind.fd(handle(self)), done = function()
      return self.pointer == nil
    end }, deadline) then
      return nil
    end
  end
end

--- Iterates: `for message in consumer:messages(500) do`. A message that was not settled is accepted when the next one
-- is asked for; leaving the loop by break or by an error puts it back. Ends when none came within `timeout`.
function Consumer:messages(timeout)
  local previous
  return function()
    if previous and not previous.settled then
      previous:accept()
    end
    previous = self:next(timeout)
    self.iterated = previous
    return previous
  end
end

-- --- handlers ---

local function settle_as(message, outcome, reason)
  if message.settled then
    return
  end
  if outcome == nil or outcome == true then
    message:accept()
  elseif outcome == false then
    message:fail(reason)
  elseif received.outcomes[outcome] == nil then
    message:fail("a handler answered " .. errors.text(outcome))
  elseif outcome == "accepted" then
    message:accept()
  else
    message[({ failed = "fail", rejected = "reject", parked = "park" })[outcome]](message, reason)
  end
end

-- A settlement that comes too late is delivered again; there is nobody to tell.
local function settle_quietly(message, ...)
  local fine, raised = pcall(settle_as, message, ...)
  if not fine and not errors.is(raised) then
    error(raised, 0)
  end
  message:release()
end

-- What the interpreter raises on Ctrl-C is not the message's fault.
local function is_interrupt(raised)
  return type(raised) == "string" and raised:find("interrupted!$") ~= nil
end

local function handle_one(self, handler, message)
  local fine, outcome, reason = pcall(handler, message)
  if not fine and is_interrupt(outcome) then
    message:release()
    error(outcome, 0)
  elseif fine then
    settle_quietly(message, outcome, reason)
  else
    settle_quietly(message, "failed", errors.text(outcome))
  end
  self.connection.loop:count_message()
end

-- A coroutine of a group that was scaled down ends by itself: it is told so by its number.
local function handle_as_member(self, handler, number)
  while self.pointer ~= nil and not self.draining and number <= self.members do
    local fine, message = pcall(self.next, self, 1000)
    if fine and message then
      handle_one(self, handler, message)
    elseif not fine then
      self.running[number] = nil
      return errors.is(message, "closed") or error(message, 0)
    end
  end
  self.running[number] = nil
end

local function start_members(self)
  for number = 1, self.members do
    if not self.running[number] then
      self.running[number] = true
      self.connection.loop:spawn(handle_as_member, self, self.handler, number)
    end
  end
end

--- Whether it is a function, or a table that can be called like one.
function consumer.is_callable(value)
  return type(value) == "function" or (type(value) == "table" and (getmetatable(value) or {}).__call ~= nil)
end

--- Has messages handled by a function while the loop runs: its connection keeps it until it is closed. See
-- Connection:consume().
function Consumer:start(handler)
  if not consumer.is_callable(handler) then
    self:close()
    errors.raise("invalid_argument", "the handler is a " .. type(handler) .. " and not a function", "handler")
  end
  self.handler, self.running = handler, {}
  self.connection.consumers[self] = true
  start_members(self)
  return self
end

--- Another number of members of a group while it runs; those that are too many finish what they are at. Raises `limit`.
function Consumer:scale(members)
  if self.kind_name ~= "group" then
    errors.raise("unsupported", "only a group has members")
  end
  local slot = errors.slot()
  lib.acemq_cancel_fire(self.token)
  local status = lib.acemq_group_scale(handle(self), members, slot)
  lib.acemq_cancel_reset(self.token)
  local err = status ~= 0 and errors.take(slot) or nil
  if err and err.name ~= "cancelled" then
    error(err, 0)
  end
  self.members = tonumber(lib.acemq_group_members(handle(self)))
  if self.handler then
    start_members(self)
  end
end

-- --- control ---

--- Has next() under way, or else the next one, answer nil.
function Consumer:wake()
  self.kind.wake(handle(self))
end

--- Readable while next(0) would answer something; for a loop of the program's own.
function Consumer:fd()
  return self.kind.fd(handle(self))
end

--- Takes nothing more until resume(); what is in hand is finished.
function Consumer:pause()
  local slot = errors.slot()
  errors.check(self.kind.pause(handle(self), slot), slot)
end

--- Goes on; of an ordered consumer, `partition` is one that halted (nil: all).
function Consumer:resume(partition)
  local slot = errors.slot()
  if self.kind_name == "ordered" then
    errors.check(lib.acemq_ordered_resume(handle(self), partition or -1, slot), slot)
  else
    errors.check(self.kind.resume(handle(self), slot), slot)
  end
end

function Consumer:paused()
  return self.kind.paused(handle(self)) == 1
end

function Consumer:subscribed()
  return self.pointer ~= nil and self.kind.subscribed(self.pointer) == 1
end

--- Another prefetch while it runs, of a consumer or of each member of a group.
function Consumer:set_prefetch(prefetch)
  local slot = errors.slot()
  if self.kind_name == "group" then
    errors.check(lib.acemq_group_set_prefetch(handle(self), prefetch, slot), slot)
  elseif self.kind_name == "consumer" then
    errors.check(lib.acemq_consumer_set_prefetch(handle(self), prefetch, slot), slot)
  else
    errors.raise("unsupported", "an ordered consumer always has the prefetch 1", "prefetch")
  end
end

function Consumer:prefetch()
  if self.kind_name == "group" then
    return tonumber(lib.acemq_group_prefetch(handle(self)))
  end
  return self.kind_name == "consumer" and tonumber(lib.acemq_consumer_prefetch(handle(self))) or 1
end

--- What was counted since it was made, by name.
function Consumer:counters()
  local slot, struct = errors.slot(), ffi.new("acemq_consumer_counters")
  if self.pointer == nil then
    return self.last_counters
  end
  struct.size = ffi.sizeof(struct)
  errors.check(self.kind.get_counters(self.pointer, struct, slot), slot)
  return options.counters(struct, COUNTERS)
end

--- What is in hand: tables of queue, id and running (ms).
function Consumer:work()
  local slot, out = errors.slot(), ffi.new("acemq_work *[1]")
  if self.kind_name == "ordered" then
    errors.raise("unsupported", "an ordered consumer does not tell what is in hand; drain() does")
  end
  local get = self.kind_name == "group" and lib.acemq_group_get_work or lib.acemq_consumer_get_work
  errors.check(get(handle(self), out, slot), slot)
  return connection.left_of(out[0])
end

-- A drain that does not wait, again and again: handlers that run in the loop could not finish otherwise.
local function drain_once(self)
  local slot, finished = errors.slot(), ffi.new("int[1]")
  local status
  if self.kind_name == "consumer" then
    status = lib.acemq_consumer_drain(handle(self), 0, finished, slot)
  else
    status = self.kind.drain(handle(self), 0, finished, nil, slot)
  end
  local err = status ~= 0 and errors.take(slot) or nil
  if err and err.name ~= "timeout" then
    error(err, 0)
  end
  return finished[0] == 1 and not err, err
end

--- Takes no more work, puts back what was not begun, and waits until what is in hand is settled. Raises `timeout`.
function Consumer:drain(timeout)
  local deadline = loop.deadline(timeout or 20000)
  self.draining = true
  while true do
    local finished, err = drain_once(self)
    if finished then
      return
    elseif loop.now() >= deadline then
      error(err or errors.new("timeout", "something is still in hand"), 0)
    end
    loop.wait(self.connection, {}, math.min(deadline, loop.now() + 10))
  end
end

--- Told by the connection that it is closed, and by close().
function Consumer:ended()
  if self.pointer == nil then
    return
  end
  put_back_left(self)
  self.last_counters = self:counters()
  self.connection.consumers[self] = nil
  local pointer = self.pointer
  self.pointer = nil
  self.free(ffi.gc(pointer, nil))
end

--- Ends it without waiting: what is unsettled goes back. Again is fine.
function Consumer:close()
  if self.pointer == nil then
    return
  end
  local slot = errors.slot()
  local status = self.kind.close(self.pointer, slot)
  local err = status ~= 0 and errors.take(slot) or nil
  self:ended()
  if err and err.name ~= "closed" then
    error(err, 0)
  end
end

return consumer
