-- Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist, which is
-- told apart.
--
--   luajit publish.lua [URL]     without a URL: a broker inside this program
local acemq = require("acemq")

local mq = acemq.connect(arg[1] or "memory://example")
mq:declare("example.orders")

local function publish(queue, number)
  mq:publish(queue, { id = number }, { type = "order.placed", headers = { shop = "north" }, timeout = "5s" })
end

for number = 1, 3 do
  publish("example.orders", number)
  print(("order %d is in its queue, confirmed"):format(number))
end

local fine, err = pcall(publish, "example.nowhere", 4)
if not fine and acemq.is_error(err, "unroutable") then
  print("order 4 came back: " .. err.message)
end
mq:close()
