-- Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where
-- they are.
--
--   luajit replay.lua [URL]     without a URL: a broker inside this program
local acemq = require("acemq")

local queue = "example.replayed"
local mq = acemq.connect(arg[1] or "memory://example")

-- Takes `count` orders and says what happened to each of them.
local function work(count, outcome)
  local consumer = mq:consume(queue, function(order)
    print(("  %s: %s"):format(order.id, outcome == "accepted" and "charged" or "the price list is missing"))
    return outcome, "the price list is missing"
  end)
  mq:run({ count = count, timeout = "5s" })
  consumer:drain("5s")
  consumer:close()
end

mq:declare(queue)
for number = 1, 3 do
  mq:publish(queue, "one kilo of nails",
    { id = "order-" .. number, headers = { shop = number == 2 and "south" or "north" } })
end

print("a bad day:")
work(3, "rejected")

local result = mq:replay(queue, {
  filter = function(order)
    return order.headers.shop == "north"
  end,
})
print(("after the fix: %d went home, %d stayed"):format(result.replayed, result.left))
work(result.replayed, "accepted")
mq:close()
