#!/usr/bin/lua5.4
-- Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
-- dead letters, and order 4 is no JSON and is parked without being seen.
--
--   consume_with_retry.lua [URL]     without a URL: a broker inside this program
local acemq = require "acemq"

local queue = "example.retried"

local function publish(mq, id, json)
    local order = acemq.message_new(json)
    acemq.message_set_id(order, id)
    acemq.message_set_content_type(order, "application/json")
    acemq.publish(mq, queue, order, 5 * acemq.SECOND)
end

local function prepare(mq, policy)
    local topology = acemq.topology_new()
    acemq.topology_queue(topology, queue, acemq.QUEUE_QUORUM, true, policy)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for number = 1, 3 do
        publish(mq, "order-" .. number, ('{"id":%d}'):format(number))
    end
    publish(mq, "order-4", '{"id":')
end

-- What is said of an order is carried out: acknowledged, or tried again as the policy has it.
local function handle(order)
    local envelope = acemq.delivery_envelope(order)
    local id, attempt = acemq.envelope_id(envelope), acemq.envelope_attempt(envelope)
    local fails = id == "order-3" or (id == "order-2" and attempt < 3)
    print(("%s, attempt %d: %s"):format(id, attempt, fails and "no stock" or "charged"))
    if fails then
        acemq.delivery_settle(order, acemq.FAILED, "no stock")
    else
        acemq.delivery_settle(order, acemq.ACCEPTED)
    end
end

local function consume(mq, policy)
    local options = acemq.ConsumerOptions { retry = policy, codec = acemq.codec_builtin("json") }
    local consumer = acemq.consumer_open(mq, queue, options)
    local came, order = pcall(acemq.consumer_next, consumer, 2 * acemq.SECOND)
    while came do
        handle(order)
        came, order = pcall(acemq.consumer_next, consumer, 2 * acemq.SECOND)
    end
    assert(order.name == "timeout", order) -- no more orders
    local counters = acemq.consumer_get_counters(consumer)
    print(("%d succeeded after %d retries, %d among the dead letters, %d parked"):format(counters.acknowledged,
        counters.retried, counters.dead_lettered, counters.parked))
end

local mq = acemq.connect(arg[1] or "memory://example")
local policy = acemq.policy_exponential(3, 100, acemq.SECOND) -- 100 ms, 200 ms
acemq.policy_jitter(policy, 0) -- so that the story is the same each time
prepare(mq, policy)
consume(mq, policy)
acemq.connection_close(mq, 5 * acemq.SECOND)
