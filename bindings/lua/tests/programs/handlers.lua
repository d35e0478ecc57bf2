-- Handlers: what they answer, what they raise, what they end, and what is collected while they are registered.
local acemq = require("acemq")
local tap = require("tap")

local on_each, test, is, ok = tap.on_each, tap.test, tap.is, tap.ok

-- On a stack of its own, whose dead slots keep nothing alive.
local function elsewhere(body)
  coroutine.wrap(body)()
end

on_each("what a handler answers is carried out", function(mq, queue)
  mq:declare(queue)
  local answers = {
    nothing = { nil }, yes = { true }, accepted = { "accepted" }, no = { false, "why not" }, failed = { "failed", "f" },
    rejected = { "rejected", "r" }, parked = { "parked", "p" }, number = { 42 }, word = { "maybe" },
  }
  for id in pairs(answers) do
    mq:publish(queue, "x", { id = id })
  end
  local consumer = mq:consume(queue, function(message)
    return answers[message.id][1], answers[message.id][2]
  end)
  mq:run({ count = 9, timeout = "30s" })
  consumer:drain()
  local counters = consumer:counters()
  is({ counters.acknowledged, counters.dead_lettered, counters.parked }, { 3, 5, 1 })
  tap.await(mq, "the dead letters", function() return mq:pending(queue) == 5 end)
  local browser, reasons = mq:browse(queue .. ".dlq"), {}
  for message in browser:messages() do
    reasons[message.id] = message.error
  end
  ok(reasons.no:find("why not", 1, true) and reasons.number:find("answered 42", 1, true), reasons.no)
  browser:close()
end)

on_each("an error of any type fails the message, with its text as the reason", function(mq, queue)
  mq:declare(queue)
  local raised = {
    text = { "a text", "a text" }, table = { { message = "of a table" }, "of a table" }, number = { 42, "42" },
    named = { setmetatable({}, { __tostring = function() return "of itself" end }), "of itself" },
    broken = { setmetatable({}, { __tostring = function() error("twice") end }), "no text" },
    empty = { {}, "table:" }, boolean = { false, "false" }, ours = { nil, "nil" },
  }
  for id in pairs(raised) do
    mq:publish(queue, "x", { id = id })
  end
  local seen = {}
  local consumer = mq:consume(queue, function(message)
    seen[message.id] = (seen[message.id] or 0) + 1
    error(raised[message.id][1], 0)
  end, { retry = "fixed(2, 5ms)" })
  mq:run({ count = 16, timeout = "30s" })
  consumer:drain()
  is({ consumer:counters().retried, consumer:counters().dead_lettered }, { 8, 8 })
  tap.await(mq, "the dead letters", function() return mq:pending(queue) == 8 end)
  local browser = mq:browse(queue .. ".dlq")
  for message in browser:messages() do
    is(seen[message.id], 2, message.id)
    ok(message.error:find(raised[message.id][2], 1, true), message.id .. ": " .. message.error)
  end
  browser:close()
end)

on_each("a handler may settle by itself, publish, and look at the message later", function(mq, queue)
  mq:declare(queue)
  mq:publish(queue, "first")
  local kept
  local consumer = mq:consume(queue, function(message)
    if message.body == "first" then
      message:accept()
      kept = message
      mq:publish(queue, "second", { caused_by = message })
      error("too late")
    end
  end)
  mq:run({ count = 2, timeout = "30s" })
  consumer:drain()
  is({ consumer:counters().acknowledged, kept.body, kept.attempt }, { 2, "first", 1 })
end)

test("a handler may close its connection, and what it had goes back", function()
  local queue, url = tap.name(), os.getenv("ACEMQ_TEST_URL")
  local mq = acemq.connect(url)
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  mq:publish(queue, "x", { id = "kept" })
  local left
  mq:consume(queue, function() left = mq:close("1s") end)
  mq:run({ timeout = "20s" })
  is(mq:state(), "closed")
  local other = acemq.connect(url)
  local message = other:consume(queue):next("20s")
  is({ message.id, type(left) }, { "kept", "table" })
  message:accept()
  other:close()
  other = acemq.connect(url)
  other:delete_queue(queue)
  other:close()
end)

on_each("a handler given as a temporary closure, collected ten times over, is still called; after close it can be "
  .. "collected", function(mq, queue)
  mq:declare(queue)
  local weak = setmetatable({}, { __mode = "v" })
  elsewhere(function()
    local handled = 0
    weak.handler = function() handled = handled + 1 end
    weak.consumer = mq:consume(queue, weak.handler)
  end)
  for _ = 1, 10 do
    collectgarbage()
    mq:publish(queue, "x")
  end
  is(mq:run({ count = 10, timeout = "30s" }), 10)
  ok(weak.handler and weak.consumer)
  elsewhere(function()
    weak.consumer:close()
    mq:run({ timeout = 100 })
  end)
  jit.flush() -- a compiled trace may hold the function that it was made for
  for _ = 1, 3 do
    collectgarbage()
  end
  ok(weak.handler == nil and weak.consumer == nil, "closed and still held")
end)

test("a connection that is dropped with its consumers gives back what it had", function()
  local queue = tap.name()
  local mq = acemq.connect(os.getenv("ACEMQ_TEST_URL"))
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  for number = 1, 20 do
    mq:publish(queue, "x", { id = "m" .. number })
  end
  local weak = setmetatable({}, { __mode = "v" })
  elsewhere(function()
    weak.connection = acemq.connect(os.getenv("ACEMQ_TEST_URL"))
    local consumer = weak.connection:consume(queue)
    for _ = 1, 5 do
      consumer:next("10s")
    end
    weak.connection:consume(queue, function() end)
  end)
  jit.flush()
  for _ = 1, 4 do
    collectgarbage()
  end
  ok(weak.connection == nil, "it was not collected")
  local seen, count = {}, 0
  mq:consume(queue, function(message)
    count = count + (seen[message.id] and 0 or 1)
    seen[message.id] = true
    if count == 20 then mq:stop() end
  end)
  mq:run({ timeout = "30s" })
  is(count, 20)
  mq:delete_queue(queue)
  mq:close()
end)

for _, how in ipairs({ "os.exit(7)", "os.exit(7, true)" }) do
  test(how .. " inside a handler ends the process with its status, and the message is back on its queue", function()
    local queue, url = tap.name(), os.getenv("ACEMQ_TEST_URL")
    local mq = acemq.connect(url)
    mq:declare({ queues = { { name = queue, type = "classic" } } })
    mq:publish(queue, "x", { id = "kept" })
    local program = ([[
      local mq = require("acemq").connect("%s")
      mq:consume("%s", function() %s end, {retry = "fixed(3, 1ms)"})
      mq:run({timeout = "20s"})
    ]]):format(url, queue, how)
    local file = os.tmpname()
    local out = assert(io.open(file, "w"))
    out:write(program)
    out:close()
    local status = os.execute("luajit " .. file)
    os.remove(file)
    is(status / 256, 7, "exit status")
    local message = mq:consume(queue):next("20s")
    is({ message.id, message.attempt, message.redelivered }, { "kept", 1, true })
    message:accept()
    mq:close()
    mq = acemq.connect(url)
    mq:delete_queue(queue)
    mq:close()
  end)
end

on_each("leaving a loop by break or by an error puts the message back, and going on accepts it", function(mq, queue)
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  for number = 1, 4 do
    mq:publish(queue, number, { codec = "json" })
  end
  local consumer, seen = mq:consume(queue), {}
  for message in consumer:messages("10s") do
    seen[#seen + 1] = message.body
    if #seen == 2 then break end
  end
  pcall(function()
    for message in consumer:messages("10s") do
      seen[#seen + 1] = message.body
      error("out")
    end
  end)
  local counted = {}
  for message in consumer:messages(2000) do
    counted[message.body] = true
  end
  is({ seen[1], counted[1], counted[2], counted[3], counted[4] }, { 1, nil, true, true, true })
  consumer:drain()
  is(consumer:counters().acknowledged, 4)
end)

tap.finish()
