-- Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.
--
--   luajit idempotent_consumer.lua [URL [STORE]]     without a URL: a broker inside this program
--                                                    STORE of the claims: lmdb:PATH or postgresql://…
local acemq = require("acemq")

local queue = "example.once"
local claims = acemq.idempotency(arg[2] or "memory:")
local mq = acemq.connect(arg[1] or "memory://example")

mq:declare(queue)
-- What tells two messages apart is their id; whoever sends again sends the same one.
for _, id in ipairs({ "order-1", "order-1", "order-2" }) do
  mq:publish(queue, "one kilo of nails", { id = id })
  print(id .. " is in its queue")
end

-- Before an order is seen here its id is claimed; what was handled already is only acknowledged.
local consumer = mq:consume(queue, function(order)
  print(order.id .. ": charged")
end, { idempotency = claims, prefetch = 1 }) -- one after the other, so that the story is the same each time

mq:run({ count = 2, timeout = "5s" })
consumer:drain("5s")
local counters = consumer:counters()
print(("%d were charged, %d had been before"):format(counters.acknowledged, counters.duplicates))
mq:close()
