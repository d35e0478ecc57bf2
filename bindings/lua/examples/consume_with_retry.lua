-- Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
-- dead letters, and order 4 is no JSON and is parked without being seen.
--
--   luajit consume_with_retry.lua [URL]     without a URL: a broker inside this program
local acemq = require("acemq")

local queue = "example.retried"
local retry = acemq.policy.exponential(3, "100ms", "1s") -- waits 100 ms, then 200 ms

local mq = acemq.connect(arg[1] or "memory://example")
mq:declare({ queues = { { name = queue, dead_letter = true, retry = retry } } })
for number = 1, 3 do
  mq:publish(queue, { id = number }, { id = "order-" .. number })
end
mq:publish(queue, '{"id":', { id = "order-4", codec = "bytes", content_type = "application/json" })

-- What a handler raises fails its message, which is tried again as the policy has it.
local consumer = mq:consume(queue, function(order)
  local fails = order.id == "order-3" or (order.id == "order-2" and order.attempt < 3)
  print(("%s, attempt %d: %s"):format(order.id, order.attempt, fails and "no stock" or "charged"))
  if fails then
    error("no stock", 0)
  end
end, { retry = retry, codec = "json", prefetch = 1 }) -- one after the other, so that the story is the same each time

mq:run({ idle = "2s" })
local counters = consumer:counters()
print(("%d succeeded after %d retries, %d among the dead letters, %d parked"):format(
  counters.acknowledged, counters.retried, counters.dead_lettered, counters.parked))
mq:close()
