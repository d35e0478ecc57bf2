-- Verbs that need a broker.
local acemq = require("acemq")
local describe = require("describe")
local loop = require("acemq.loop")

local client = {}

local mq
local stores = {}

local function connection()
  if not mq then
    error({ name = "state", message = "connect first" }, 0)
  end
  return mq
end

local function close()
  if mq then
    pcall(mq.close, mq, 5000)
  end
  for _, store in pairs(stores) do
    store:close()
  end
  mq, stores = nil, {}
end
client.ended = close

local verbs = {}
client.verbs = verbs

verbs.connect = { "url timeout", function(with)
  close()
  mq = acemq.connect(with.url, { timeout = with.timeout or 10000 })
  return {}
end }

verbs.close = { "", function()
  close()
  return {}
end }

verbs.topology = { "topology", function(with)
  connection():declare(with.topology, 10000)
  return {}
end }

local function outgoing(with)
  local body, options = describe.outgoing(with.message)
  if not options then
    error({ unsupported = "a message has no such member here" }, 0)
  end
  return body, options
end

verbs.publish = { "queue exchange routingKey message timeout", function(with)
  local body, options = outgoing(with)
  options.timeout = with.timeout or 10000
  options.exchange = not with.queue and with.exchange or nil
  connection():publish(with.queue or with.routingKey or "", body, options)
  return { id = options.id or acemq.null }
end }

verbs.pending = { "queue parked", function(with)
  return { pending = connection():pending(with.queue, with.parked and "parked" or nil, 10000) }
end }

verbs.peek = { "queue max", function(with)
  local messages = acemq.array()
  local browser = connection():browse(with.queue, { force = true })
  local fine, raised = pcall(function()
    while #messages < (with.max or 10) do
      local message = browser:next()
      if not message then break end
      messages[#messages + 1] = describe.message(message)
    end
  end)
  browser:close()
  if not fine then
    error(raised, 0)
  end
  return { messages = messages }
end }

verbs.replay = { "queue parked max keepAttempts id headers dryRun", function(with)
  local options = { source = with.parked and "parked" or nil, max = with.max, keep_attempts = with.keepAttempts,
    id = with.id, dry_run = with.dryRun }
  if with.headers then
    local wanted = acemq.json.decode(with.headers.text)
    options.filter = function(message)
      for name, value in pairs(wanted) do
        if message.headers[name] ~= value then return false end
      end
      return true
    end
  end
  local result = connection():replay(with.queue, options)
  return { replayed = result.replayed, declined = result.declined, left = result.left }
end }

-- --- claims ---

local function store_of(where)
  if type(where) ~= "string" then
    error({ name = "invalid_argument", message = "store is missing" }, 0)
  end
  stores[where] = stores[where] or acemq.idempotency(where:match("^memory:") or where)
  return stores[where]
end

verbs.claim = { "store key lease", function(with)
  local answer, token = store_of(with.store):claim(with.key, with.lease or 300000)
  return { answer = answer, token = token or "" }
end }

verbs["claim.confirm"] = { "store key token", function(with)
  store_of(with.store):confirm(with.key, with.token)
  return {}
end }

verbs["claim.release"] = { "store key token", function(with)
  store_of(with.store):release(with.key, with.token)
  return {}
end }

verbs["claim.renew"] = { "store key token lease", function(with)
  store_of(with.store):renew(with.key, with.token, with.lease or 300000)
  return {}
end }

-- --- consuming ---

local SETTLE = { accept = "accept", fail = "fail", reject = "reject", park = "park" }

local function entry_for(script, seen, id)
  seen[id] = (seen[id] or 0) + 1
  local entries = script[id] or script["*"]
  return entries and (entries[seen[id]] or entries[#entries]) or "accept"
end

local function listed(message, entry)
  local out = describe.message(message)
  out.outcome, out.routingKey, out.redelivered, out.queue = entry, message.routing_key, message.redelivered,
    message.queue
  return out
end

-- Handles messages as the script says, until what `until` says.
local function follow(consumer, with)
  local script, seen, deliveries = with.script or {}, {}, acemq.array()
  local limits = with["until"] or {}
  local ends = loop.now() + (limits.timeout or 10000)
  while #deliveries < (limits.deliveries or math.huge) do
    local wait = math.min(ends - loop.now(), limits.idle or math.huge)
    local message = wait > 0 and consumer:next(wait)
    if not message then break end
    local entry = entry_for(script, seen, message.id)
    deliveries[#deliveries + 1] = listed(message, entry)
    local verb, reason = entry:match("^(%a+):? ?(.*)$")
    message[SETTLE[verb]](message, reason ~= "" and reason or nil)
  end
  return deliveries
end

local function consumer_options(with)
  local options = { retry = with.retry, codec = with.codec or "bytes", prefetch = with.prefetch, declare = with.declare,
    requeue_on_failure = with.requeueOnFailure }
  local claims = with.idempotency
  if claims then
    options.idempotency, options.lease, options.put_back_wait = store_of(claims.store), claims.lease, claims.putBackWait
  end
  return options
end

verbs.consume = { "queue retry codec script until members prefetch declare requeueOnFailure idempotency", function(with)
  local options, open = consumer_options(with), connection().consume
  if (with.members or 1) > 1 then
    options.members, open = with.members, mq.group
  end
  local consumer = open(mq, with.queue, options)
  local fine, deliveries = pcall(follow, consumer, with)
  pcall(consumer.drain, consumer, 10000)
  local counters = consumer:counters()
  consumer:close()
  if not fine then
    error(deliveries, 0)
  end
  return { deliveries = deliveries, counters = {
    acknowledged = counters.acknowledged, rejected = counters.rejected, retried = counters.retried,
    deadLettered = counters.dead_lettered, parked = counters.parked, duplicates = counters.duplicates,
  } }
end }

-- --- order ---

verbs["ordered.publish"] = { "name key partitions rule message timeout", function(with)
  local body, options = outgoing(with)
  options.timeout, options.partitions, options.rule = with.timeout or 10000, with.partitions, with.rule
  connection():publish_ordered(with.name, with.key, body, options)
  return { id = options.id or acemq.null }
end }

verbs["ordered.consume"] = { "name partitions failure retry codec script until", function(with)
  local options = consumer_options(with)
  options.partitions = with.partitions
  options.failure = ({ stop = "stop", retry = "retry_in_place", skip = "skip" })[with.failure or "stop"]
  local consumer = connection():ordered(with.name, options)
  local fine, deliveries = pcall(follow, consumer, with)
  pcall(consumer.drain, consumer, 10000)
  local gaps, halted = acemq.array((consumer:gaps())), acemq.array()
  for partition = 0, (with.partitions or 8) - 1 do
    if consumer:halted(partition) then
      halted[#halted + 1] = partition
    end
  end
  consumer:close()
  if not fine then
    error(deliveries, 0)
  end
  return { deliveries = deliveries, gaps = gaps, halted = halted }
end }

-- --- the outbox ---

verbs["outbox.enqueue"] = { "store queue exchange routingKey message", function(with)
  local body, options = outgoing(with)
  options.exchange = not with.queue and with.exchange or nil
  local outbox = acemq.outbox(with.store)
  local fine, id = pcall(outbox.enqueue, outbox, with.queue or with.routingKey, body, options)
  outbox:close()
  if not fine then
    error(id, 0)
  end
  return { id = id }
end }

verbs["outbox.relay"] = { "store", function(with)
  local outbox = acemq.outbox(with.store)
  local relay = connection():relay(outbox)
  relay:drain(10000)
  local published = relay:count().published
  relay:close()
  outbox:close()
  return { published = published }
end }

return client
