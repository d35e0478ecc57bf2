#!/usr/bin/lua5.4
-- Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.
--
--   idempotent_consumer.lua [URL [STORE]]     without a URL: a broker inside this program
--                                             STORE of the claims: lmdb:PATH or postgresql://…; memory: when not given
local acemq = require "acemq"

local queue = "example.once"

-- What tells two messages apart is their id; whoever sends again sends the same one.
local function publish(mq, id)
    local order = acemq.message_text("one kilo of nails")
    acemq.message_set_id(order, id)
    acemq.publish(mq, queue, order, 5 * acemq.SECOND)
    print(id .. " is in its queue")
end

local function publish_orders(mq)
    local topology = acemq.topology_new()
    acemq.topology_queue(topology, queue, acemq.QUEUE_QUORUM, true)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for _, id in ipairs { "order-1", "order-1", "order-2" } do
        publish(mq, id)
    end
end

-- Before an order is seen here its id is claimed; what was handled already is only acknowledged.
local function consume(mq, claims)
    -- one after the other, so that the story is the same each time
    local options = acemq.ConsumerOptions { idempotency = claims, prefetch = 1 }
    local consumer = acemq.consumer_open(mq, queue, options)
    for _ = 1, 2 do
        local order = acemq.consumer_next(consumer, 5 * acemq.SECOND)
        print(acemq.envelope_id(acemq.delivery_envelope(order)) .. ": charged")
        acemq.delivery_settle(order, acemq.ACCEPTED)
    end
    acemq.consumer_drain(consumer, 5 * acemq.SECOND)
    local counters = acemq.consumer_get_counters(consumer)
    print(("%d were charged, %d had been before"):format(counters.acknowledged, counters.duplicates))
end

local claims = acemq.idempotency_open(arg[2] or "memory:")
local mq = acemq.connect(arg[1] or "memory://example")
publish_orders(mq)
consume(mq, claims)
acemq.connection_close(mq, 5 * acemq.SECOND)
