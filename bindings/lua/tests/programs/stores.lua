-- Claims and outboxes in LMDB and in PostgreSQL: shared by those who open the same place, and there afterwards.
local acemq = require("acemq")
local tap = require("tap")

local test, is, ok, raises = tap.test, tap.is, tap.ok, tap.raises

local PLACES = {
  { "LMDB", "lmdb:" .. os.getenv("ACEMQ_TEST_FOLDER"), {}, {} },
  { "PostgreSQL", os.getenv("ACEMQ_TEST_POSTGRES"), { name = os.getenv("ACEMQ_TEST_CLAIMS") },
    { name = os.getenv("ACEMQ_TEST_OUTBOX") } },
}

for _, place in ipairs(PLACES) do
  local title, where, of_claims, of_outbox = unpack(place)

  test(title .. ": one claim for two who open the same store, a lease that runs out, and fencing", function()
    local one, other = acemq.idempotency(where, of_claims), acemq.idempotency(where, of_claims)
    local answer, token = one:claim("order 1", "1m")
    is({ answer, (other:claim("order 1", "1m")) }, { "claimed", "in_progress" })
    one:confirm("order 1", token)
    is(other:claim("order 1"), "duplicate")
    local _, late = one:claim("order 2", 1)
    local again, taken
    for _ = 1, 1000 do
      again, taken = other:claim("order 2", "1m")
      if again == "claimed" then break end
    end
    is(again, "claimed")
    raises("fenced", one.confirm, one, "order 2", late)
    other:release("order 2", taken)
    local listed = one:list(nil, 1)
    is({ #listed, listed[1].key, listed[1].confirmed }, { 1, "order 1", true })
    is(one:list("order 1")[1].key, "order 2")
    ok(one:purge_expired() >= 0 and one:size() >= 1)
    one:close()
    other:close()
  end)

  test(title .. ": what comes twice to two consumers is handled once, and an outbox's messages go out once", function()
    local queue, mq = tap.name(), acemq.connect(os.getenv("ACEMQ_TEST_URL"))
    mq:declare({ queues = { { name = queue, type = "classic" } } })
    local outbox = acemq.outbox(where, of_outbox)
    for number = 1, 20 do
      outbox:enqueue(queue, { number = number }, { id = ("%s-%d"):format(queue, number) })
    end
    is({ #outbox:pending(5), outbox:count().pending }, { 5, 20 })
    raises("invalid_argument", outbox.enqueue, outbox, queue, "x", { id = queue .. "-1" })
    local relay = mq:relay(outbox, { every = 20 })
    relay:drain("60s")
    for number = 1, 20 do
      mq:publish(queue, { number = number }, { id = ("%s-%d"):format(queue, number) })
    end
    local claims, handled, count = acemq.idempotency(where, of_claims), {}, 0
    local consumers = {}
    for index = 1, 2 do
      consumers[index] = mq:consume(queue, function(message)
        handled[message.body.number] = (handled[message.body.number] or 0) + 1
        count = count + 1
      end, { idempotency = claims, prefetch = 1, put_back_wait = 20 })
    end
    tap.await(mq, "all to be handled", function()
      mq:run({ idle = 100, timeout = "10s" })
      local duplicates = consumers[1]:counters().duplicates + consumers[2]:counters().duplicates
      return count >= 20 and duplicates >= 20
    end)
    for number = 1, 20 do
      is(handled[number], 1, "message " .. number)
    end
    is(relay:count().published, 20)
    relay:close()
    consumers[1]:close()
    consumers[2]:close()
    ok(outbox:purge_published(0) == 20)
    outbox:close()
    mq:delete_queue(queue)
    mq:close()
  end)
end

test("a table that is not there, and a folder that cannot be made, are named; no password is shown", function()
  local err = raises("not_found", acemq.idempotency, os.getenv("ACEMQ_TEST_POSTGRES"), { name = "nowhere" })
  ok(err.message:find("nowhere", 1, true), err.message)
  raises("not_found", acemq.outbox, os.getenv("ACEMQ_TEST_POSTGRES"), { name = "nowhere" })
  raises("system", acemq.idempotency, "lmdb:/proc/nowhere")
  err = raises("unreachable", acemq.outbox, "postgresql://user:hushhush@127.0.0.1:1/x", { timeout = "5s" })
  ok(not err.message:find("hushhush", 1, true), "the password is shown")
  raises("invalid_argument", acemq.idempotency, "nonsense:")
end)

tap.finish()
