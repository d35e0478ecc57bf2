#!/usr/bin/lua5.4
-- Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where
-- they are.
--
--   replay.lua [URL]     without a URL: a broker inside this program
local acemq = require "acemq"

local queue = "example.replayed"

-- Takes `count` orders and says what happened to each of them.
local function work(mq, count, outcome)
    local consumer = acemq.consumer_open(mq, queue)
    for _ = 1, count do
        local order = acemq.consumer_next(consumer, 5 * acemq.SECOND)
        local said = outcome == acemq.ACCEPTED and "charged" or "the price list is missing"
        print(("  %s: %s"):format(acemq.envelope_id(acemq.delivery_envelope(order)), said))
        acemq.delivery_settle(order, outcome, "the price list is missing")
    end
    acemq.consumer_drain(consumer, 5 * acemq.SECOND)
    acemq.consumer_close(consumer)
end

local function publish_orders(mq)
    local topology = acemq.topology_new()
    acemq.topology_queue(topology, queue, acemq.QUEUE_QUORUM, true)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for number = 1, 3 do
        local order = acemq.message_text("one kilo of nails")
        acemq.message_set_id(order, "order-" .. number)
        acemq.message_set_header(order, "shop", number == 2 and "south" or "north")
        acemq.publish(mq, queue, order, 5 * acemq.SECOND)
    end
end

local function is_of_the_north(order)
    local shop = acemq.table_get(acemq.delivery_headers(order), "shop")
    return acemq.value_bytes(shop) == "north"
end

local mq = acemq.connect(arg[1] or "memory://example")
publish_orders(mq)
print("a bad day:")
work(mq, 3, acemq.REJECTED)
local result = acemq.replay(mq, queue, acemq.ReplayOptions { filter = is_of_the_north })
print(("after the fix: %d went home, %d stayed"):format(result.replayed, result.left))
work(mq, result.replayed, acemq.ACCEPTED)
acemq.connection_close(mq, 5 * acemq.SECOND)
