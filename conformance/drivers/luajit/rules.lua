-- Verbs that need no broker.
local acemq = require("acemq")
local describe = require("describe")

local rules = {}

local null = acemq.null

local function body_result(bytes)
  return describe.set_body({}, bytes)
end

rules.envelope = { "headers routingKey messageId", function(with)
  local envelope, application, written = acemq.envelope(with.headers, with.routingKey, with.messageId)
  return { envelope = describe.envelope(envelope), headers = acemq.raw(application), written = acemq.raw(written) }
end }

rules.policy = { "text", function(with)
  local policy = acemq.policy.parse(with.text)
  return { text = tostring(policy), maxAttempts = policy:attempts(), maxAge = policy:max_age(),
    threshold = policy:threshold(), jitter = policy:jitter() }
end }

local function place_of(policy, queue, delay)
  local where, rung = policy:place(queue, delay)
  return where, rung or null
end

rules.schedule = { "policy queue", function(with)
  local policy, queue = acemq.policy.parse(with.policy), with.queue or "orders"
  local waits, rungs = acemq.array(), acemq.array()
  for after = 1, policy:attempts() - 1 do
    local delay = policy:wait(after)
    local where, rung = place_of(policy, queue, delay)
    waits[after] = { afterAttempt = after, delayMs = delay, where = where, rung = rung }
  end
  for index, rung in ipairs(policy:rungs(queue)) do
    rungs[index] = { queue = rung.queue, arguments = acemq.raw(policy:rung_arguments(queue, rung.delay)) }
  end
  return { waits = waits, rungs = rungs }
end }

rules.waits = { "policy attempts", function(with)
  local policy, waits = acemq.policy.parse(with.policy), acemq.array()
  for index, attempt in ipairs(with.attempts) do
    waits[index] = policy:wait(attempt)
  end
  return { waits = waits }
end }

rules.decide = { "policy attempt age", function(with)
  return { retries = acemq.policy.parse(with.policy):retries(with.attempt, with.age) }
end }

rules.place = { "policy queue delay", function(with)
  local where, rung = place_of(acemq.policy.parse(with.policy), with.queue, with.delay)
  return { where = where, rung = rung }
end }

rules.jitter = { "policy delay unit", function(with)
  return { delay = acemq.policy.parse(with.policy):jittered(with.delay, with.unit) }
end }

rules.names = { "queue", function(with)
  return { deadLetter = acemq.dead_letter_queue(with.queue), parked = acemq.parked_queue(with.queue) }
end }

rules["duration.parse"] = { "text", function(with)
  return { milliseconds = acemq.parse_duration(with.text) }
end }

rules["duration.format"] = { "milliseconds", function(with)
  return { text = acemq.format_duration(with.milliseconds) }
end }

rules["time.parse"] = { "text", function(with)
  local seconds, nanoseconds = acemq.parse_time(with.text)
  return { seconds = seconds, nanoseconds = nanoseconds }
end }

rules["time.format"] = { "milliseconds", function(with)
  return { text = acemq.format_time(with.milliseconds) }
end }

rules.partition = { "key keyBase64 partitions rule", function(with)
  local key = with.keyBase64 and describe.from_base64(with.keyBase64) or with.key
  return { partition = acemq.partition(key, with.partitions, with.rule) }
end }

rules["ordered.queue"] = { "name key partitions rule", function(with)
  return { queue = acemq.ordered_queue(with.name, with.key, { partitions = with.partitions, rule = with.rule }) }
end }

rules["claim.read"] = { "body bodyBase64", function(with)
  local frame, rest = acemq.frames.read_claim(describe.body_of(with))
  local result = body_result(rest)
  result.frame = frame
  return result
end }

rules["claim.write"] = { "frame body bodyBase64", function(with)
  return body_result(acemq.frames.write_claim(with.frame, describe.body_of(with)))
end }

rules["encrypted.read"] = { "body bodyBase64", function(with)
  local frame = acemq.frames.read_encrypted(describe.body_of(with))
  local base64 = describe.to_base64
  return { keyId = frame.key_id, authenticatedBase64 = base64(frame.authenticated), nonceBase64 = base64(frame.nonce),
    ciphertextBase64 = base64(frame.ciphertext), tagBase64 = base64(frame.tag) }
end }

rules.encrypt = { "keyId keyBase64 body bodyBase64", function(with)
  local keys = { [with.keyId] = describe.from_base64(with.keyBase64) }
  return body_result(acemq.encrypted({ keys = keys, inner = "bytes" }):write(describe.body_of(with)))
end }

rules.decrypt = { "keys body bodyBase64", function(with)
  local keys = {}
  for id, key in pairs(with.keys) do
    keys[id] = describe.from_base64(key)
  end
  local codec = acemq.encrypted({ keys = keys, inner = "bytes", write_with = (next(keys)) })
  return body_result(codec:read(describe.body_of(with)))
end }

rules["codec.reads"] = { "codec contentType", function(with)
  return { reads = acemq.codec_reads(with.codec, with.contentType) }
end }

rules["codec.check"] = { "codec body bodyBase64 contentType", function(with)
  acemq.codec_check(with.codec or "bytes", describe.body_of(with), with.contentType)
  return {}
end }

local function objects_of(plan)
  local objects = acemq.array()
  for index, object in ipairs(plan) do
    objects[index] = { kind = object.kind, name = object.name, type = object.type, arguments = object.arguments,
      exchange = object.exchange, routingKey = object.routing_key }
  end
  return { objects = objects }
end

rules["topology.plan"] = { "topology", function(with)
  return objects_of(acemq.plan(with.topology))
end }

rules["consumer.plan"] = { "queue policy", function(with)
  return objects_of(acemq.consumer_plan(with.queue, with.policy))
end }

return rules
