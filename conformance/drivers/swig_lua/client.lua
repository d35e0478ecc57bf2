-- The verbs that need a broker: one connection, and the stores in memory.
local acemq = require "acemq"
local json = require "json"
local protocol = require "protocol"

local wait, lease = 10 * acemq.SECOND, 5 * acemq.MINUTE
local outcomes = { a = acemq.ACCEPTED, f = acemq.FAILED, r = acemq.REJECTED, p = acemq.PARKED }
local failures = { retry = acemq.ORDER_RETRY_IN_PLACE, skip = acemq.ORDER_SKIP }
local answers = { "claimed", "duplicate", "in_progress" }
local client, connection, stores = {}, nil, {}

local function verb(name, parameters, run)
    client[name] = { parameters = parameters, run = run }
end

local function connected()
    return connection or protocol.refuse("state", "connect first")
end

local function close()
    if connection then
        pcall(acemq.connection_close, connection, 5 * acemq.SECOND) -- what it says, it is closed all the same
    end
    connection, stores = nil, {}
end

verb("close", "", close)

verb("connect", "url timeout", function(given)
    close()
    connection = acemq.connect(given.url, acemq.ConnectOptions { timeout = given.timeout or wait })
end)

verb("topology", "topology", function(given)
    acemq.topology_apply(connected(), acemq.topology_parse(json.write(given.topology)), wait)
end)

verb("publish", "queue exchange routingKey message timeout", function(given)
    local message, timeout = protocol.message(given), given.timeout or wait
    if given.queue then
        acemq.publish(connected(), given.queue, message, timeout)
    else
        acemq.publish_to(connected(), given.exchange or "", given.routingKey, message, timeout)
    end
    return { id = acemq.message_id(message) or json.null }
end)

local function source_of(given)
    return given.parked and acemq.PARKED_LETTERS or acemq.DEAD_LETTERS
end

verb("pending", "queue parked", function(given)
    return { pending = acemq.replay_pending(connected(), given.queue, source_of(given), wait) }
end)

verb("peek", "queue max", function(given)
    local browser = acemq.browser_open(connected(), given.queue, acemq.BrowserOptions { force = true })
    local messages, most = json.list(), given.max or 10
    local delivery = most > 0 and acemq.browser_next(browser) or nil
    while delivery do
        messages[#messages + 1] = protocol.delivery_json(delivery)
        acemq.delivery_free(delivery)
        delivery = #messages < most and acemq.browser_next(browser) or nil
    end
    acemq.browser_free(browser)
    return { messages = messages }
end)

verb("replay", "queue parked max keepAttempts id headers dryRun", function(given)
    local options = acemq.ReplayOptions { max = given.max or -1, source = source_of(given),
        keep_attempts = given.keepAttempts == true, dry_run = given.dryRun == true, id = given.id }
    if given.headers then
        options.filter = function(delivery)
            local headers = acemq.delivery_headers(delivery)
            for name, text in pairs(given.headers) do
                if acemq.value_bytes(acemq.table_get(headers, name)) ~= text then
                    return false
                end
            end
            return true
        end
    end
    local result = acemq.replay(connected(), given.queue, options)
    return { replayed = result.replayed, declined = result.declined, left = result.left }
end)

local function store_of(where)
    stores[where] = stores[where] or acemq.idempotency_open(where:find("^memory:") and "memory:" or where)
    return stores[where]
end

verb("claim", "store key lease", function(given)
    local token, answer = acemq.idempotency_claim(store_of(given.store), given.key, given.lease or lease, wait)
    return { answer = answers[answer], token = token }
end)

verb("claim.confirm", "store key token", function(given)
    acemq.idempotency_confirm(store_of(given.store), given.key, given.token, wait)
end)

verb("claim.release", "store key token", function(given)
    acemq.idempotency_release(store_of(given.store), given.key, given.token, wait)
end)

verb("claim.renew", "store key token lease", function(given)
    acemq.idempotency_renew(store_of(given.store), given.key, given.token, given.lease or lease, wait)
end)

-- --- what the handler does with each message, and until when ---

-- Milliseconds of a clock that goes on while nothing is done, which os.clock() does not; whole seconds otherwise.
local function now()
    local uptime = assert(io.open("/proc/uptime"))
    local seconds = uptime:read("n")
    uptime:close()
    return math.floor(seconds * 1000)
end

local function entry_for(script, id)
    script.seen[id] = (script.seen[id] or 0) + 1
    local entries = script.entries[id] or script.entries["*"] or { "accept" }
    return entries[math.min(script.seen[id], #entries)] or "accept"
end

local function handle(script, delivery)
    local listed = protocol.delivery_json(delivery)
    local entry = entry_for(script, listed.envelope.id)
    listed.outcome, listed.queue = entry, acemq.delivery_queue(delivery)
    listed.routingKey = acemq.delivery_routing_key(delivery)
    listed.redelivered = acemq.delivery_redelivered(delivery) == 1
    script.deliveries[#script.deliveries + 1] = listed
    acemq.delivery_settle(delivery, outcomes[entry:sub(1, 1)], entry:match(": (.*)$"))
    acemq.delivery_free(delivery)
end

-- The deliveries that the script's limits let through.
local function follow(given, take, consumer)
    local limits = given["until"] or {}
    local script = { entries = given.script or {}, seen = {}, deliveries = json.list() }
    local ends = now() + (limits.timeout or 10000)
    while #script.deliveries < (limits.deliveries or math.maxinteger) do
        local left = math.min(ends - now(), limits.idle or math.maxinteger)
        if left <= 0 then
            break
        end
        local came, delivery = pcall(take, consumer, left)
        if not came and delivery.name == "timeout" then
            break
        elseif not came then
            error(delivery, 0)
        end
        handle(script, delivery)
    end
    return script.deliveries
end

local function consumer_options(given)
    local codec = acemq.codec_builtin(given.codec or "bytes") or protocol.unsupported("no such codec")
    local options = acemq.ConsumerOptions { codec = codec, retry = protocol.policy(given, "retry"),
        declare = given.declare == "verify", requeue_on_failure = given.requeueOnFailure == true,
        prefetch = given.prefetch }
    local claims = given.idempotency
    if claims then
        options.idempotency = store_of(claims.store)
        options.lease = claims.lease or options.lease
        options.put_back_wait = claims.putBackWait or options.put_back_wait
    end
    return options
end

verb("consume", "queue retry codec script until members prefetch declare requeueOnFailure idempotency", function(given)
    local kind, options, members = "consumer", consumer_options(given), given.members or 1
    if members ~= 1 then
        kind, options = "group", acemq.GroupOptions { consumer = options, members = members }
    end
    local consumer = acemq[kind .. "_open"](connected(), given.queue, options)
    local deliveries = follow(given, acemq[kind .. "_next"], consumer)
    pcall(acemq[kind .. "_drain"], consumer, wait) -- what is left comes again, and the counters say what was done
    local counted = acemq[kind .. "_get_counters"](consumer)
    acemq[kind .. "_free"](consumer)
    return { deliveries = deliveries, counters = { acknowledged = counted.acknowledged, rejected = counted.rejected,
        retried = counted.retried, deadLettered = counted.dead_lettered, parked = counted.parked,
        duplicates = counted.duplicates } }
end)

verb("ordered.publish", "name key partitions rule message timeout", function(given)
    local message = protocol.message(given)
    acemq.ordered_publish(connected(), given.name, protocol.partitioning(given), protocol.key(given), message,
        given.timeout or wait)
    return { id = acemq.message_id(message) or json.null }
end)

local function gaps_json(ordered)
    local gaps, listed = acemq.ordered_get_gaps(ordered), json.list()
    for index = 0, acemq.gaps_count(gaps) - 1 do
        listed[index + 1] = { partition = acemq.gaps_partition(gaps, index), id = acemq.gaps_id(gaps, index),
            reason = acemq.gaps_reason(gaps, index), parked = acemq.gaps_parked(gaps, index) == 1 }
    end
    return listed
end

verb("ordered.consume", "name partitions failure retry codec script until", function(given)
    local partitions, halted = given.partitions or 8, json.list()
    local ordered = acemq.ordered_open(connected(), given.name, acemq.OrderedOptions {
        consumer = consumer_options(given), partitions = partitions,
        failure = failures[given.failure] or acemq.ORDER_STOP })
    local deliveries = follow(given, acemq.ordered_next, ordered)
    pcall(acemq.ordered_drain, ordered, wait)
    for partition = 0, partitions - 1 do
        if acemq.ordered_halted(ordered, partition) == 1 then
            halted[#halted + 1] = partition
        end
    end
    local gaps = gaps_json(ordered)
    acemq.ordered_free(ordered)
    return { deliveries = deliveries, gaps = gaps, halted = halted }
end)

verb("outbox.enqueue", "store queue exchange routingKey message", function(given)
    local outbox = acemq.outbox_open(given.store)
    local id = acemq.outbox_enqueue(outbox, given.queue and "" or given.exchange or "", given.queue or given.routingKey,
        protocol.message(given), wait)
    acemq.outbox_free(outbox)
    return { id = id }
end)

verb("outbox.relay", "store", function(given)
    local outbox = acemq.outbox_open(given.store)
    local relay = acemq.relay_start(connected(), outbox)
    acemq.relay_drain(relay, wait)
    local published = acemq.relay_count(relay).published
    acemq.relay_free(relay)
    acemq.outbox_free(outbox)
    return { published = published }
end)

return client
