-- The client: connecting, publishing, errors, topology, replay, browsing, stores, outbox, state and codecs.
local acemq = require("acemq")
local tap = require("tap")

local on_each, test, is, ok, raises = tap.on_each, tap.test, tap.is, tap.ok, tap.raises

test("an error is a table with code, name, message, field and limit, and is its own text", function()
  local err = raises("limit", function()
    local mq = acemq.connect("memory://errors")
    mq:publish(("q"):rep(300), "x")
  end)
  is(err.code, acemq.codes.limit)
  ok(err.field ~= "" and err.limit == 255, "field and limit: " .. err.field .. " " .. tostring(err.limit))
  is(tostring(err), "limit: " .. err.message)
  is({ err.retriable, err.fatal, err.reply_code }, { false, true, 0 })
end)

test("an option that does not exist, or of another type, is refused by name", function()
  is(raises("invalid_argument", acemq.connect, "memory://x", { retries = 3 }).field, "retries")
  is(raises("invalid_argument", acemq.connect, "memory://x", { timeout = {} }).field, "timeout")
  is(raises("invalid_argument", acemq.connect, "memory://x", { on = { nothing = print } }).field, "on")
  is(raises("parse", acemq.connect, "memory://x", { timeout = "soon" }).field, "timeout")
  local mq = acemq.connect("memory://x")
  is(raises("invalid_argument", mq.publish, mq, "q", "x", { colour = "red" }).field, "colour")
  is(raises("invalid_argument", mq.consume, mq, "q", { declare = "maybe" }).field, "declare")
  raises("invalid_argument", mq.publish, mq, "q", nil)
  is(raises("invalid_argument", acemq.connect, {}).field, "url")
  is(raises("invalid_argument", mq.publish, mq, "", "x").field, "queue")
  is(raises("invalid_argument", mq.publish, mq, "q", "x", { headers = 4 }).field, "headers")
  is(raises("invalid_argument", mq.consume, mq, "q", { arguments = 4 }).field, "arguments")
  is(raises("invalid_argument", mq.consume, mq, "q", { idempotency = 4 }).field, "idempotency")
  is(raises("invalid_argument", mq.replay, mq, "q", { filter = 4 }).field, "filter")
  mq:declare("q")
  is(raises("invalid_argument", mq.consume, mq, "q", 7).field, "handler")
end)

test("a text with a NUL names nothing that is called like its beginning", function()
  local mq, store, nul = acemq.connect("memory://nul"), acemq.idempotency("memory:"), "q\0and more"
  mq:declare("q")
  for _, call in ipairs({
    function() mq:publish(nul, "x") end,
    function() mq:publish("q", "x", { id = nul }) end,
    function() mq:publish("q", "x", { headers = { [nul] = 1 } }) end,
    function() mq:consume(nul) end,
    function() mq:count(nul) end,
    function() mq:purge(nul) end,
    function() mq:delete_queue(nul) end,
    function() mq:browse(nul) end,
    function() mq:replay(nul) end,
    function() mq:pending(nul) end,
    function() store:claim(nul) end,
    function() acemq.connect(nul) end,
  }) do
    raises("invalid_argument", call)
  end
  is(mq:count("q"), 0)
end)

test("a number that an option cannot hold is refused, and none becomes another one", function()
  local mq = acemq.connect("memory://numbers")
  mq:declare("q")
  for _, number in ipairs({ 2 ^ 32 + 5, 1.5, 0 / 0, 1e300, -2 ^ 40 }) do
    is(raises("invalid_argument", mq.consume, mq, "q", { prefetch = number }).field, "prefetch")
    is(raises("invalid_argument", mq.publish, mq, "q", "x", { priority = number }).field, "priority")
    is(raises("invalid_argument", mq.publish, mq, "q", "x", { version = number }).field, "version")
  end
  raises("invalid_argument", mq.publish, mq, "q", "x", { timeout = 0 / 0 })
  raises("invalid_argument", mq.publish, mq, "q", "x", { timeout = -1 })
  raises("limit", mq.publisher, mq, { window = 0 / 0 })
  mq:publish("q", "x", { timeout = 1e300 })
  is(mq:count("q"), 1)
end)

test("what is no function is refused as a handler, where it would fail every message", function()
  local mq = acemq.connect("memory://handlers")
  mq:declare("q")
  for _, handler in ipairs({ 5, "handle", true }) do
    is(raises("invalid_argument", mq.consume, mq, "q", handler).field, "handler")
    is(raises("invalid_argument", mq.group, mq, "q", handler).field, "handler")
  end
  local handled = 0
  mq:consume("q", setmetatable({}, { __call = function() handled = handled + 1 end }))
  mq:publish("q", "x")
  mq:run({ count = 1, timeout = "30s" })
  is(handled, 1)
end)

test("credentials that answer nothing are refused by name", function()
  for _, answer in ipairs({ function() end, function() return "user" end, function() return 1, 2 end }) do
    is(raises("invalid_argument", acemq.connect, "amqp://127.0.0.1:1/", { credentials = answer }).field, "credentials")
  end
end)

test("nobody there, and a wrong password, are told apart, and the password is in no message", function()
  raises("unreachable", acemq.connect, "amqp://guest:secret@127.0.0.1:1/")
  local url = os.getenv("ACEMQ_TEST_URL"):gsub("//([^:]*):[^@]*@", "//%1:wrongsecret@")
  local err = raises("login_refused", acemq.connect, url)
  ok(not err.message:find("wrongsecret", 1, true), "the password is shown")
end)

on_each("each result of a publish", function(mq, queue)
  mq:declare(queue)
  mq:publish(queue, { id = 1 })
  local err = raises("unroutable", mq.publish, mq, queue .. ".missing", "x")
  is(err.reply_code, 312)
  mq:pause_publishing()
  ok(mq:publishing_paused())
  raises("refused", mq.publish, mq, queue, "x", { timeout = 50 })
  mq:resume_publishing()
  mq:publish(queue, "x")
  tap.await(mq, "two messages", function() return mq:count(queue) == 2 end)
  is(mq:purge(queue), 2)
end)

on_each("a window in flight, receipts, flush and a batch", function(mq, queue)
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  local publisher = mq:publisher({ routing_key = queue, window = 8, codec = "json" })
  local receipts = {}
  for number = 1, 100 do
    receipts[number] = publisher:submit({ number = number })
    ok(publisher.in_flight <= 8, "more than the window are under way")
  end
  ok(receipts[100]:wait() and receipts[1].done)
  publisher:submit("lost", { routing_key = queue .. ".missing" })
  local failed = publisher:flush("10s")
  is(#failed, 1)
  is(failed[1].name, "unroutable")
  is(#publisher:flush("10s"), 0)
  local confirmed, errors = publisher:send_batch({ 1, function() end, 3 })
  is(confirmed, 2)
  is(errors[2].name, "decode")
  tap.await(mq, "102 messages", function() return mq:count(queue) == 102 end)
  publisher:close()
  raises("closed", publisher.send, publisher, "x")
  local quick = mq:publisher({ routing_key = queue, unconfirmed = true, optional = true })
  ok(quick:submit("x"):wait("10s") and quick:submit("x", { routing_key = queue .. ".missing" }):wait("10s"))
  tap.await(mq, "one more", function() return mq:count(queue) == 103 end)
end)

on_each("a message and all its options arrive", function(mq, queue)
  mq:declare(queue)
  mq:publish(queue, { item = "nails" }, {
    id = "order-1", type = "order.placed", version = 2, correlation = "c", causation = "d", origin = "shop@north",
    headers = { shop = "north" }, reply_to = "answers", priority = 3, expiration = "1h",
    route = { steps = { "a", "b" }, position = 1, id = "r" },
  })
  local consumer = mq:consume(queue)
  local order = consumer:next("10s")
  is({ order.id, order.type, order.version, order.correlation, order.causation, order.origin, order.attempt },
    { "order-1", "order.placed", 2, "c", "d", "shop@north", 1 })
  is({ order.body.item, order.headers, order.queue, order.routing_key, order.exchange },
    { "nails", { shop = "north" }, queue, queue, "" })
  is({ order.route, order.route_position, order.route_id }, { { "a", "b" }, 1, "r" })
  is({ order.properties.contentType, order.properties.priority, order.properties.replyTo, order.error },
    { "application/json", 3, "answers", nil })
  ok(order:typed_headers():find('"x-acemq-id"', 1, true), "reserved headers")
  mq:publish(queue, "answer", { caused_by = order })
  order:accept()
  raises("settled", order.accept, order)
  is(order.headers.shop, "north", "a settled message stays readable")
  mq:publish(queue, "later", { caused_by = order })
  for _ = 1, 2 do
    local answer = consumer:next("10s")
    is({ answer.correlation, answer.causation }, { "c", "order-1" })
    answer:accept()
  end
  consumer:drain("10s")
  is(consumer:counters().acknowledged, 3)
end)

on_each("an array with names or holes is refused, since those would be lost", function(mq, queue)
  mq:declare(queue)
  for _, mixed in ipairs({ { 1, note = "x" }, { 1, 2, [5] = 3 } }) do
    for _, codec in ipairs({ "json", "msgpack" }) do
      raises("decode", mq.publish, mq, queue, mixed, { codec = codec })
    end
    is(raises("invalid_argument", mq.publish, mq, queue, "x", { headers = { mixed = mixed } }).field, "mixed")
  end
  is((mq:count(queue)), 0)
end)

on_each("codecs: what does not decode is parked, and comes to no handler", function(mq, queue)
  mq:declare(queue)
  local upper = acemq.codec({
    name = "upper",
    content_type = "text/x-upper",
    encode = function(text) return text:upper() end,
    decode = function(bytes)
      if bytes == "BAD" then error({ message = "bad it is" }) end
      return bytes:lower()
    end,
  })
  local keys = { spring = ("k"):rep(32) }
  local stored = {}
  local store = { put = function(key, bytes) stored[key] = bytes end, get = function(key) return stored[key] end }
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. folder)
  for _, case in ipairs({
    { "auto", { a = { 1, 2 } } }, { "json", { a = acemq.null } }, { "text", "gr\195\188\195\159e" },
    { "msgpack", { a = "b\0c" } }, { "bytes", "\0\255" }, { upper, "shout" },
    { acemq.encrypted({ keys = keys }), { secret = true } },
    { acemq.claim_check({ directory = folder, threshold = 10 }), { text = ("x"):rep(100) } },
    { acemq.claim_check({ store = store, threshold = 10 }), { text = ("x"):rep(100) } },
    { acemq.claim_check({ store = store, threshold = 1000, inner = "text" }), "small" },
    { acemq.claim_check({ directory = folder, threshold = 10, inner = acemq.encrypted({ keys = keys }) }), { 1, 2 } },
  }) do
    mq:publish(queue, case[2], { codec = case[1] })
    local consumer = mq:consume(queue, { codec = case[1] })
    local message = consumer:next("10s")
    is(message.body, case[2])
    message:accept()
    consumer:close()
  end
  os.execute("rm -r " .. folder)
  ok(next(stored), "the store was not used")
  local parked = 0
  for _, case in ipairs({
    { "json", "{", "application/json" }, { "auto", "{", "application/json" }, { "text", "\255", "text/plain", "" },
    { upper, "BAD", "text/x-upper", "" }, { "msgpack", "\193", "application/msgpack" },
    { acemq.claim_check({ store = { put = print, get = function() end } }), "\1\2missing", "application/json" },
  }) do
    mq:publish(queue, case[2], { codec = "bytes", content_type = case[3] })
    mq:publish(queue, case[4] or { 1 }, { codec = case[1], id = "good" })
    local consumer = mq:consume(queue, { codec = case[1] })
    local good = consumer:next("10s")
    is(good.id, "good")
    good:accept()
    consumer:drain("10s")
    local counters = consumer:counters()
    ok(counters.parked >= 1, "it was not parked")
    parked = parked + counters.parked
    consumer:close()
    mq:purge(queue)
  end
  tap.await(mq, "the parking lot", function() return mq:pending(queue, "parked") == parked end)
end)

on_each("topology: validated, planned, compared, declared, and what differs is named", function(mq, queue)
  local description = {
    exchanges = { { name = queue .. ".events", type = "topic" } },
    queues = { { name = queue, type = "classic", arguments = { ["x-max-length"] = 10 } } },
    bindings = { { exchange = queue .. ".events", queue = queue, routing_key = "order.*" } },
  }
  acemq.validate(description)
  raises("parse", acemq.validate, { queues = { { nam = "x" } } })
  is(#acemq.plan(description), 3)
  local plan = mq:dry_run(description)
  ok(plan.drift and plan[2].state == "create")
  is(mq:declare(description)[2].state, "create")
  is(mq:declare(description)[2].state, "present")
  mq:publish("order.placed", "x", { exchange = queue .. ".events" })
  raises("unroutable", mq.publish, mq, "other", "x", { exchange = queue .. ".events" })
  description.queues[1].arguments["x-max-length"] = 11
  local err = raises("differs", mq.declare, mq, description)
  is({ err.plan[2].state, err.plan[2].differing }, { "differs", "x-max-length" })
end)

on_each("replay, pending, browse and what a filter raises", function(mq, queue)
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  for number = 1, 4 do
    mq:publish(queue, "body " .. number, { id = "m" .. number, headers = { even = number % 2 == 0 } })
  end
  local consumer = mq:consume(queue, function() return "rejected", "no" end)
  mq:run({ count = 4, timeout = "20s" })
  consumer:drain()
  consumer:close()
  tap.await(mq, "four dead letters", function() return mq:pending(queue) == 4 end)
  local browser, ids = mq:browse(acemq.dead_letter_queue(queue)), {}
  for message in browser:messages() do
    ids[#ids + 1] = message.id .. ":" .. message.body .. ":" .. message.error
  end
  ok(ids[1]:match("^m1:body 1:.*: no$"), ids[1])
  is(#ids, 4)
  browser:close()
  raises("closed", browser.next, browser)
  local fine, raised = pcall(mq.replay, mq, queue, { filter = function() error({ mine = true }) end })
  ok(not fine and raised.mine, "the filter's own error: " .. tostring(raised))
  tap.await(mq, "four dead letters again", function() return mq:pending(queue) == 4 end)
  is(mq:replay(queue, { dry_run = true }).replayed, 4)
  local told = {}
  local result = mq:replay(queue, {
    filter = function(message) return message.headers.even end,
    progress = function(replayed, declined, total) told[#told + 1] = { replayed, declined, total } end,
  })
  is({ result.replayed, result.declined, result.left }, { 2, 2, 2 })
  is(told[4], { 2, 2, 4 })
  raises("not_found", mq.pending, mq, queue .. ".missing")
end)

on_each("the address of a store does for a consumer of one program", function(mq, queue)
  mq:declare(queue)
  mq:publish(queue, "x", { id = "twice" })
  mq:publish(queue, "x", { id = "twice" })
  local runs = 0
  local consumer = mq:consume(queue, function() runs = runs + 1 end, { idempotency = "memory:", prefetch = 1 })
  collectgarbage()
  mq:spawn(function()
    repeat mq:sleep(10) until consumer:counters().duplicates == 1
    mq:stop()
  end)
  mq:run({ timeout = "30s" })
  is({ runs, consumer:counters().duplicates }, { 1, 1 })
end)

on_each("an idempotency store: one handles, another waits, twice is once; and a key of one's own", function(mq, queue)
  local claims = acemq.idempotency("memory:")
  local answer, token = claims:claim("k", "1m")
  is(answer, "claimed")
  is(claims:claim("k", "1m"), "in_progress")
  claims:renew("k", token, "1m")
  claims:confirm("k", token)
  is(claims:claim("k", "1m"), "duplicate")
  raises("fenced", claims.release, claims, "k", token)
  is(claims:size(), 1)
  is({ claims:list()[1].key, claims:list()[1].confirmed }, { "k", true })
  is(claims:purge_expired(), 0)
  mq:declare(queue)
  for _, order in ipairs({ "a", "a", "b" }) do
    mq:publish(queue, "x", { headers = { order = order } })
  end
  local seen = {}
  local consumer = mq:consume(queue, function(message) seen[#seen + 1] = message.headers.order end, {
    idempotency = claims, prefetch = 1,
    claim_key = function(message)
      collectgarbage()
      return "order " .. message.headers.order
    end,
  })
  mq:run({ count = 2, timeout = "20s" })
  consumer:drain()
  is(table.concat(seen), "ab")
  is(consumer:counters().duplicates, 1)
  consumer:close()
  claims:close()
  raises("closed", claims.size, claims)
  ok(acemq.schema_postgres():find("CREATE TABLE", 1, true))
end)

on_each("the outbox and its relay", function(mq, queue)
  mq:declare(queue)
  local outbox = acemq.outbox("memory:")
  is(outbox:enqueue(queue, { id = 1 }, { id = "first" }), "first")
  is(outbox:pending()[1].body, '{"id":1}')
  local relay = mq:relay(outbox, { every = 50 })
  relay:wake()
  relay:drain("20s")
  is(relay:count().published, 1)
  is({ outbox:count().published, #outbox:retired(), outbox:release(), outbox:purge_published(0) }, { 1, 0, 0, 1 })
  relay:stop("5s")
  relay:close()
  raises("closed", relay.count, relay)
  local consumer = mq:consume(queue)
  local message = consumer:next("10s")
  is({ message.id, message.body.id }, { "first", 1 })
  message:accept()
  local text, parameters, id = acemq.outbox_statement(queue, { id = 2 }, { id = "second", placeholder = "?" })
  ok(text:find("INSERT", 1, true) and text:find("?", 1, true) and #parameters > 3)
  is(id, "second")
end)

on_each("state, health, metrics, events and the log", function(mq, queue, url)
  is({ (mq:state()), (mq:health()) }, { "open", "up" })
  local told = {}
  local other = acemq.connect(url, { on = {
    settled = function(event) told.settled = event.settlement end,
    connection = function(event) told.connection = event.state end,
    log = function(event) told.log = event.text end,
  }, log_level = "debug" })
  local metrics = acemq.metrics({ series_limit = 100 })
  metrics:watch(other)
  mq:declare(queue)
  other:publish(queue, "x")
  other:consume(queue, function() end)
  other:run({ count = 1, timeout = "20s" })
  tap.await(other, "the settlement", function() return told.settled end)
  is({ told.settled.queue, told.settled.outcome, told.settled.attempt }, { queue, "acked", 1 })
  ok(metrics:prometheus():find("acemq_publish_total", 1, true))
  metrics:close()
  is(other:health(), "up")
  other:close()
  is({ (other:state()), (other:health()) }, { "closed", "down" })
  raises("closed", other.publish, other, queue, "x")
  other:close()
end)

test("a function of `on` that raises is heard, and nothing is lost by it", function()
  local mq = acemq.connect("memory://" .. tap.name(), { on = { settled = function() error("mine", 0) end } })
  mq:declare("q")
  mq:publish("q", "x")
  mq:consume("q", function() end)
  local fine, raised = pcall(function() mq:run({ timeout = "20s" }) end)
  is({ fine, raised }, { false, "mine" })
  mq:publish("q", "y")
end)

test("credentials come from a function, at each connect", function()
  local asked = 0
  local user, password = os.getenv("ACEMQ_TEST_URL"):match("//([^:]*):([^@]*)@")
  local url = os.getenv("ACEMQ_TEST_URL"):gsub("//.*@", "//")
  local mq = acemq.connect(url, { credentials = function()
    asked = asked + 1
    return user, password
  end })
  ok(asked == 1 and mq:state() == "open")
  mq:close()
  raises("login_refused", acemq.connect, url, { credentials = function() return user, "no" end })
  raises("invalid_argument", acemq.connect, url, { credentials = "guest" })
end)

test("TLS options arrive at the library: a file that is not there is named, and amqp:// refuses them", function()
  local err = raises("invalid_argument", acemq.connect, "amqp://127.0.0.1/", { ca_file = "/nowhere.pem" })
  ok(err.message:find("ca_file", 1, true) or err.field == "ca_file", err.message)
  local fine, raised = pcall(acemq.connect, "amqps://127.0.0.1:1/", { ca_file = "/nowhere.pem", timeout = 2000 })
  ok(not fine and acemq.is_error(raised), tostring(raised))
end)

on_each("ordered: each key in its order, and a halt with its reason", function(mq, queue)
  mq:declare({ partitioned = { { name = queue, partitions = 2 } } })
  for number = 1, 20 do
    mq:publish_ordered(queue, "key" .. number % 4, number, { partitions = 2, codec = "json" })
  end
  local last, seen = {}, 0
  local consumer = mq:ordered(queue, function(message)
    local key = message.body % 4
    ok((last[key] or 0) < message.body, "out of order")
    last[key], seen = message.body, seen + 1
  end, { partitions = 2, codec = "json" })
  mq:run({ count = 20, timeout = "30s" })
  is(seen, 20)
  is(#consumer:gaps(), 0)
  consumer:drain()
  consumer:close()
  local stopping = mq:ordered(queue, function() return "failed", "broken" end, { partitions = 2 })
  mq:publish_ordered(queue, "k", "x", { partitions = 2 })
  local partition = acemq.partition("k", 2)
  tap.await(mq, "the halt", function()
    mq:run({ timeout = 50 })
    return (stopping:halted(partition))
  end)
  local _, why = stopping:halted(partition)
  ok(why.message:find("broken", 1, true), why.message)
  stopping:close()
  for number = 0, 1 do
    for _, suffix in ipairs({ "", ".dlq", ".parked" }) do
      mq:delete_queue(("%s.%d%s"):format(queue, number, suffix))
    end
  end
end)

test("a dot where a colon belongs is told by the name of the function", function()
  local mq = acemq.connect("memory://dotted")
  for name, call in pairs({
    publish = function() mq.publish("q", "x") end,
    declare = function() mq.declare({ queues = {} }) end,
    consume = function() mq.consume("q") end,
    close = function() mq.close() end,
  }) do
    ok(tostring(raises("invalid_argument", call)):find(("mq:%s"):format(name), 1, true))
  end
  mq:close()
end)

test("the memory broker takes connections of other programs", function()
  local broker = acemq.broker()
  local mq = acemq.connect(broker.url)
  mq:declare("q")
  mq:publish("q", "x")
  mq:close()
  broker:close()
  raises("unreachable", acemq.connect, broker.url, { timeout = "5s" })
end)

test("policies, durations, times and names", function()
  local policy = acemq.policy.exponential(5, "10s", "5m", { give_up_after = "2h" })
  is(tostring(policy), tostring(acemq.policy.parse("exponential(5, 10s, 5m).giveUpAfter(2h)")))
  is({ policy:attempts(), policy:wait(1), policy:wait(3), policy:retries(5), policy:retries(1, 7200001) },
    { 5, 10000, 40000, false, false })
  is(policy:rungs("q")[1], { delay = 40000, queue = "q.retry.40s" })
  is(tostring(acemq.policy.fixed(3, 100)):sub(1, 5), "fixed")
  is(acemq.policy.none():attempts(), 1)
  raises("limit", acemq.policy.fixed, 3, 100, { jitter = 2 })
  raises("parse", acemq.policy.parse, "sometimes")
  is({ acemq.parse_duration("1500ms"), acemq.format_duration(40000) }, { 1500, "40s" })
  is({ acemq.parse_time("1970-01-01T00:00:01.5Z") }, { 1, 500000000 })
  is(acemq.format_time(1999), "1970-01-01T00:00:01Z")
  is({ acemq.dead_letter_queue("q"), acemq.parked_queue("q"), #acemq.new_id() }, { "q.dlq", "q.parked", 36 })
  ok(acemq.has("memory") and not acemq.has("magic") and acemq.version():match("^%d"))
end)

tap.finish()
