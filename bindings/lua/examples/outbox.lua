-- The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.
--
--   luajit outbox.lua [URL [STORE]]     without a URL: a broker inside this program
--                                       STORE: lmdb:PATH or postgresql://…; memory: when not given
local acemq = require("acemq")

local outbox = acemq.outbox(arg[2] or "memory:")
local mq = acemq.connect(arg[1] or "memory://example")
mq:declare("example.outbox")

-- Here in a transaction of its own; acemq.outbox_statement() gives the INSERT for yours. No broker is needed for it.
for number = 1, 3 do
  outbox:enqueue("example.outbox", { id = number }, { type = "order.placed" })
end
print(("%d orders are written, and not published yet"):format(outbox:count().pending))

local relay = mq:relay(outbox)
relay:drain("10s")
print(("the relay published %d orders"):format(relay:count().published))
relay:close()
mq:close()
