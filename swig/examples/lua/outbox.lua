#!/usr/bin/lua5.4
-- The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.
--
--   outbox.lua [URL [STORE]]     without a URL: a broker inside this program
--                                STORE: lmdb:PATH or postgresql://…; memory: when not given
local acemq = require "acemq"

local queue = "example.outbox"

-- Here in a transaction of its own; outbox_statement_new() gives the INSERT for yours. No broker is needed.
local function write_orders(outbox)
    for number = 1, 3 do
        local order = acemq.message_json(('{"id":%d}'):format(number))
        acemq.message_set_type(order, "order.placed")
        acemq.outbox_enqueue(outbox, "", queue, order, 5 * acemq.SECOND)
    end
end

local function relay_orders(mq, outbox)
    local relay = acemq.relay_start(mq, outbox)
    acemq.relay_drain(relay, 10 * acemq.SECOND)
    print(("the relay published %d orders"):format(acemq.relay_count(relay).published))
    acemq.relay_stop(relay, 5 * acemq.SECOND)
end

local outbox = acemq.outbox_open(arg[2] or "memory:")
local mq = acemq.connect(arg[1] or "memory://example")
local topology = acemq.topology_new()
acemq.topology_queue(topology, queue, acemq.QUEUE_QUORUM, true)
acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
write_orders(outbox)
local pending = acemq.outbox_count(outbox, 5 * acemq.SECOND).pending
print(("%d orders are written, and not published yet"):format(pending))
relay_orders(mq, outbox)
acemq.connection_close(mq, 5 * acemq.SECOND)
