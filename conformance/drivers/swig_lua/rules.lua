-- The verbs that need no broker.
local acemq = require "acemq"
local json = require "json"
local protocol = require "protocol"

local frames = { [0] = "none", "inline", "stored" }
local kinds = { "exchange", "queue", "binding" }
local rules = {}

local function verb(name, parameters, run)
    rules[name] = { parameters = parameters, run = run }
end

verb("envelope", "headers routingKey messageId", function(given)
    local headers = protocol.table(given.headers)
    local read = acemq.envelope_read(headers, given.routingKey, given.messageId)
    local written = acemq.table_copy(headers)
    acemq.envelope_write(read, written)
    return { envelope = protocol.envelope_json(read),
        headers = protocol.table_json(acemq.envelope_application_headers(headers)),
        written = protocol.table_json(written, 1) }
end)

verb("policy", "text", function(given)
    local read = acemq.policy_parse(given.text)
    return { text = acemq.policy_format(read), maxAttempts = acemq.policy_max_attempts(read),
        maxAge = acemq.policy_max_age(read), threshold = acemq.policy_broker_threshold(read),
        jitter = acemq.policy_jitter_factor(read) }
end)

local function set_place(place, policy, queue, delay)
    local is_broker = acemq.policy_waits_in_broker(policy, delay) == 1
    place.where = is_broker and "broker" or "consumer"
    place.rung = is_broker and acemq.policy_rung_name(policy, queue, acemq.policy_choose_rung(policy, delay)) or json.null
    return place
end

verb("schedule", "policy queue", function(given)
    local queue, policy = given.queue or "orders", protocol.policy(given, "policy")
    local waits, rungs = json.list(), json.list()
    for after = 1, acemq.policy_max_attempts(policy) - 1 do
        local delay = acemq.policy_wait(policy, after)
        waits[after] = set_place({ afterAttempt = after, delayMs = delay }, policy, queue, delay)
    end
    for index = 0, acemq.policy_rung_count(policy) - 1 do
        local delay = acemq.policy_rung_delay(policy, index)
        rungs[index + 1] = { queue = acemq.policy_rung_name(policy, queue, delay),
            arguments = protocol.table_json(acemq.policy_rung_arguments(policy, queue, delay)) }
    end
    return { waits = waits, rungs = rungs }
end)

verb("waits", "policy attempts", function(given)
    local policy, waits = protocol.policy(given, "policy"), json.list()
    for index, attempt in ipairs(given.attempts) do
        waits[index] = acemq.policy_wait(policy, attempt)
    end
    return { waits = waits }
end)

verb("decide", "policy attempt age", function(given)
    return { retries = acemq.policy_retries(protocol.policy(given, "policy"), given.attempt, given.age or -1) == 1 }
end)

verb("place", "policy queue delay", function(given)
    return set_place({}, protocol.policy(given, "policy"), given.queue, given.delay)
end)

verb("jitter", "policy delay unit", function(given)
    return { delay = acemq.policy_jittered(protocol.policy(given, "policy"), given.delay, given.unit) }
end)

verb("names", "queue", function(given)
    return { deadLetter = acemq.dead_letter_queue(given.queue), parked = acemq.parked_queue(given.queue) }
end)

verb("duration.parse", "text", function(given)
    return { milliseconds = acemq.duration_parse(given.text) }
end)

verb("duration.format", "milliseconds", function(given)
    return { text = acemq.duration_format(given.milliseconds) }
end)

verb("time.parse", "text", function(given)
    local seconds, nanoseconds = acemq.time_parse(given.text)
    return { seconds = seconds, nanoseconds = nanoseconds }
end)

verb("time.format", "milliseconds", function(given)
    return { text = acemq.time_format(given.milliseconds) }
end)

local function rule_of(given)
    local rule = given.rule and acemq.partition_rule_named(given.rule) or acemq.PARTITION_UNSIGNED
    return rule >= 0 and rule or protocol.unsupported("no such rule")
end

local function key_of(given)
    return given.keyBase64 and protocol.bytes(given.keyBase64) or given.key or ""
end

local function partitioning_of(given)
    return acemq.Partitioning { partitions = given.partitions or 8, rule = rule_of(given) }
end

verb("partition", "key keyBase64 partitions rule", function(given)
    local number = acemq.partition(key_of(given), given.partitions or 8, rule_of(given))
    if number < 0 then
        protocol.refuse("invalid_argument", "partitions is out of range")
    end
    return { partition = number }
end)

verb("ordered.queue", "name key partitions rule", function(given)
    return { queue = acemq.ordered_queue(given.name, partitioning_of(given), key_of(given), nil) }
end)

verb("claim.read", "body bodyBase64", function(given)
    local frame, rest = acemq.claim_frame_read(protocol.body(given))
    return protocol.set_body({ frame = frames[frame] }, rest)
end)

verb("claim.write", "frame body bodyBase64", function(given)
    local numbers = { none = 0, inline = 1, stored = 2 }
    return protocol.set_body({}, acemq.claim_frame_write(numbers[given.frame], protocol.body(given)))
end)

verb("encrypted.read", "body bodyBase64", function(given)
    local frame = acemq.encrypted_frame_read(protocol.body(given))
    return { keyId = frame.key_id, authenticatedBase64 = protocol.base64(frame.authenticated),
        nonceBase64 = protocol.base64(frame.nonce), ciphertextBase64 = protocol.base64(frame.ciphertext),
        tagBase64 = protocol.base64(frame.tag) }
end)

local function encrypting(keys)
    local ring = acemq.keyring_new()
    for id, key in pairs(keys) do
        acemq.keyring_add(ring, id, protocol.bytes(key))
    end
    return acemq.codec_encrypted(ring, acemq.codec_builtin("bytes"))
end

verb("encrypt", "keyId keyBase64 body bodyBase64", function(given)
    local codec = encrypting { [given.keyId] = given.keyBase64 }
    return protocol.set_body({}, acemq.codec_encode(codec, protocol.body(given)))
end)

verb("decrypt", "keys body bodyBase64", function(given)
    local codec = encrypting(given.keys)
    return protocol.set_body({}, acemq.codec_decode(codec, protocol.body(given), acemq.codec_content_type(codec)))
end)

verb("codec.reads", "codec contentType", function(given)
    return { reads = acemq.codec_reads(given.codec, given.contentType) == 1 }
end)

verb("codec.check", "codec body bodyBase64 contentType", function(given)
    local codec = acemq.codec_builtin(given.codec or "bytes") or protocol.unsupported("no such codec")
    acemq.codec_check(codec, protocol.body(given), given.contentType)
end)

local function objects(topology)
    local plan, listed = acemq.topology_plan(topology), json.list()
    for index = 0, acemq.plan_count(plan) - 1 do
        listed[index + 1] = { kind = kinds[acemq.plan_get_kind(plan, index)], name = acemq.plan_name(plan, index),
            type = acemq.plan_type(plan, index), arguments = protocol.table_json(acemq.plan_arguments(plan, index)),
            exchange = acemq.plan_exchange(plan, index), routingKey = acemq.plan_routing_key(plan, index) }
    end
    return { objects = listed }
end

verb("topology.plan", "topology", function(given)
    return objects(acemq.topology_parse(json.write(given.topology)))
end)

verb("consumer.plan", "queue policy", function(given)
    local topology = acemq.topology_new()
    acemq.topology_consumer(topology, given.queue, protocol.policy(given, "policy"))
    return objects(topology)
end)

protocol.key, protocol.partitioning = key_of, partitioning_of

return rules
