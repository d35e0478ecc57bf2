#!/usr/bin/lua5.4
-- Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist.
--
--   publish.lua [URL]     without a URL: a broker inside this program
local acemq = require "acemq"

-- A durable queue, with the place where its dead letters will lie. Declaring again is fine.
local function declare_orders(mq)
    local topology = acemq.topology_new()
    acemq.topology_queue(topology, "example.orders", acemq.QUEUE_QUORUM, true)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
end

local function publish_order(mq, queue, number)
    local order = acemq.message_json(('{"id":%d}'):format(number)) -- what is wrong with it, publishing tells
    acemq.message_set_type(order, "order.placed")
    acemq.message_set_header(order, "shop", "north")
    acemq.publish(mq, queue, order, 5 * acemq.SECOND)
end

local mq = acemq.connect(arg[1] or "memory://example")
declare_orders(mq)
for number = 1, 3 do
    publish_order(mq, "example.orders", number)
    print(("order %d is in its queue, confirmed"):format(number))
end
local published, failure = pcall(publish_order, mq, "example.nowhere", 4)
if not published and failure.name == "unroutable" then
    print("order 4 came back: " .. failure.message)
end
acemq.connection_close(mq, 5 * acemq.SECOND)
