-- Connections: TLS, a broker that goes and comes back, credentials that are asked for again, and what outlives what.
local acemq = require("acemq")
local tap = require("tap")

local test, is, ok, raises = tap.test, tap.is, tap.ok, tap.raises

local function localhost()
  return (os.getenv("ACEMQ_TEST_TLS_URL"):gsub("@[^:/]+:", "@localhost:"))
end

test("TLS: a broker that the given CA signed is trusted, and messages go and come", function()
  local mq = acemq.connect(localhost(), { ca_file = os.getenv("ACEMQ_TEST_CA") })
  local queue = tap.name()
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  mq:publish(queue, { id = 1 })
  local consumer = mq:consume(queue)
  local message = consumer:next("20s")
  is(message.body.id, 1)
  message:accept()
  consumer:drain()
  consumer:close()
  mq:delete_queue(queue)
  mq:close()
end)

test("TLS: one that no CA signed, or for another name, is told apart; verify and server_name are heard", function()
  local ca = os.getenv("ACEMQ_TEST_CA")
  raises("tls_untrusted", acemq.connect, localhost())
  raises("tls_name", acemq.connect, localhost(), { ca_file = ca, server_name = "elsewhere.example" })
  acemq.connect(localhost(), { verify = false, log_level = "none" }):close()
  raises("tls_plain_server", acemq.connect, (os.getenv("ACEMQ_TEST_URL"):gsub("^amqp:", "amqps:")))
end)

local function started_again(port)
  for _ = 1, 500 do
    local fine, broker = pcall(acemq.broker, { port = port })
    if fine then
      return broker
    end
    os.execute("sleep 0.02")
  end
  error("the port stays taken")
end

test("a broker that goes and comes back: the states are told, the handler goes on, credentials are asked for again",
  function()
    local broker, asked, states, seen = acemq.broker(), 0, {}, {}
    local port = tonumber(broker.url:match(":(%d+)/$"))
    local mq = acemq.connect(("amqp://127.0.0.1:%d/"):format(port), {
      reconnect_initial = 20,
      reconnect_max = 100,
      credentials = function()
        asked = asked + 1
        return "guest", "guest"
      end,
      on = {
        connection = function(event) states[event.state] = event end,
        log = function() end,
      },
    })
    mq:declare("q")
    local consumer = mq:consume("q", function(message) seen[message.body] = true end)
    mq:publish("q", "before")
    tap.await(mq, "the first message", function()
      mq:run({ timeout = 20 })
      return seen.before
    end)
    broker:close()
    tap.await(mq, "the loss", function() return states.reconnecting end)
    ok(states.reconnecting.error and states.reconnecting.next_try >= 0, "why, and when again")
    states.open = nil
    broker = started_again(port)
    tap.await(mq, "the way back", function() return states.open and mq:state() == "open" end)
    ok(asked >= 2, "credentials were asked for once only")
    local other = acemq.connect(broker.url)
    other:declare("q")
    tap.await(mq, "the subscription", function()
      mq:run({ timeout = 20 })
      return consumer:subscribed()
    end)
    mq:publish("q", "after")
    tap.await(mq, "the second message", function()
      mq:run({ timeout = 20 })
      return seen.after
    end)
    other:close()
    mq:close()
    broker:close()
  end)

test("a connection that is lost for good fails what waits, and says why", function()
  local broker = acemq.broker()
  local mq = acemq.connect(broker.url, { reconnect_initial = 0 })
  mq:declare("q")
  local consumer = mq:consume("q")
  broker:close()
  local fine, raised = pcall(consumer.next, consumer, "30s")
  ok(not fine and acemq.is_error(raised), tostring(raised))
  local state, why = mq:state()
  is(state, "failed")
  ok(acemq.is_error(why), tostring(why))
  ok(not pcall(mq.publish, mq, "q", "x", { timeout = "1s" }))
  mq:close()
end)

test("handles may be dropped and closed in any order, and twice", function()
  for _ = 1, 20 do
    local mq = acemq.connect("memory://" .. tap.name())
    mq:declare("q")
    local publisher, consumer = mq:publisher({ routing_key = "q" }), mq:consume("q")
    publisher:submit("x")
    local message = consumer:next("10s")
    mq:close()
    consumer:close()
    publisher:close()
    publisher:close()
    mq:close()
    ok(not pcall(message.accept, message))
    raises("closed", consumer.next, consumer, 0)
    ok(consumer:counters(), "counters after the end")
    consumer, publisher, message = nil, nil, nil
    collectgarbage()
  end
end)

test("close() awaits what is under way, and names what was in hand when it could not", function()
  local mq = acemq.connect("memory://" .. tap.name())
  mq:declare("q")
  local publisher = mq:publisher({ routing_key = "q" })
  local receipts = {}
  for number = 1, 200 do
    receipts[number] = publisher:submit("x", { id = "m" .. number })
  end
  mq:close("10s")
  for number = 1, 200 do
    ok(receipts[number].done and not receipts[number].error, tostring(receipts[number].error))
  end
end)

tap.finish()
