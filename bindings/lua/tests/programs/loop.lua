-- The loop: coroutines that wait for messages, confirms, time and descriptors, and how it ends.
local ffi = require("ffi")
local acemq = require("acemq")
local tap = require("tap")

local on_each, test, is, ok, raises = tap.on_each, tap.test, tap.is, tap.ok, tap.raises

on_each("next yields: two coroutines take turns, and a publisher sends meanwhile", function(mq, queue)
  mq:declare(queue)
  local seen, sleeps = {}, 0
  mq:spawn(function(prefix)
    for number = 1, 50 do
      mq:publish(queue, prefix .. number)
    end
  end, "m")
  mq:spawn(function()
    local consumer = mq:consume(queue)
    for _ = 1, 50 do
      local message = consumer:next("20s")
      seen[#seen + 1] = message.body
      message:accept()
    end
    consumer:close()
  end)
  mq:spawn(function()
    repeat
      mq:sleep(1)
      sleeps = sleeps + 1
    until #seen == 50
  end)
  mq:run({ timeout = "60s" })
  is({ #seen, seen[1], seen[50], sleeps > 0 }, { 50, "m1", "m50", true })
end)

on_each("a group handles several at once, as many as it has members, and scales", function(mq, queue)
  mq:declare(queue)
  for number = 1, 12 do
    mq:publish(queue, tostring(number))
  end
  local running, most = 0, 0
  local group = mq:group(queue, function()
    running = running + 1
    most = math.max(most, running)
    mq:sleep(30)
    running = running - 1
  end, { members = 3 })
  mq:run({ count = 12, timeout = "30s" })
  is(most, 3)
  group:scale(5)
  is(group.members, 5)
  for number = 1, 20 do
    mq:publish(queue, tostring(number))
  end
  most = 0
  mq:run({ count = 20, timeout = "30s" })
  is(most, 5)
  group:set_prefetch(7)
  is(group:prefetch(), 7)
  raises("limit", group.scale, group, 0)
  for number = 1, 12 do
    mq:publish(queue, tostring(number))
  end
  mq:run({ count = 1, timeout = "30s" })
  local began = require("acemq.loop").now()
  group:scale(1) -- with five in hand, which cannot go on meanwhile
  ok(require("acemq.loop").now() - began < 10000, "it waited for handlers of its own thread")
  mq:run({ count = 6, timeout = "30s" })
  most = 0
  mq:run({ idle = 500, timeout = "30s" })
  is({ most, group.members }, { 1, 1 })
  group:drain()
  is(group:counters().acknowledged, 44)
end)

on_each("pause, resume, wake, timeouts and a consumer that is closed while it waits", function(mq, queue)
  mq:declare(queue)
  local consumer = mq:consume(queue)
  is(consumer:next(0), nil)
  is(consumer:next(20), nil)
  consumer:wake()
  is(consumer:next("20s"), nil)
  consumer:pause()
  ok(consumer:paused())
  mq:publish(queue, "x")
  is(consumer:next(100), nil)
  consumer:resume()
  local message = consumer:next("20s")
  is(#consumer:work(), 1)
  local err = raises("timeout", consumer.drain, consumer, 50)
  ok(err.message:find(message.id, 1, true), err.message)
  message:accept()
  local other, ended = mq:consume(queue), nil
  mq:spawn(function()
    ended = { pcall(other.next, other, "30s") }
  end)
  mq:spawn(function()
    mq:sleep(20)
    other:close()
  end)
  mq:run({ timeout = "20s" })
  ok(ended and not ended[1] and acemq.is_error(ended[2], "closed"), "next of a closed consumer")
  raises("invalid_argument", consumer.next, consumer, -1)
end)

test("a run that is refused for its options does not count as one that goes on", function()
  local mq = acemq.connect("memory://refused")
  for _, given in ipairs({ { timeout = 0 / 0 }, { idle = {} }, { count = "x" }, { timeout = "soon" } }) do
    tap.ok(not pcall(mq.run, mq, given), "it is refused")
  end
  tap.is(mq:run({ timeout = 1 }), 0)
end)

test("a coroutine that yields by itself goes on in its next turn", function()
  local mq, turns = acemq.connect("memory://yielding"), 0
  mq:spawn(function()
    for _ = 1, 3 do
      coroutine.yield()
      turns = turns + 1
    end
  end)
  mq:run({ timeout = "30s" })
  tap.is(turns, 3)
end)

test("run ends by count, idle, timeout, stop, and when nothing is left; what a coroutine raises is raised", function()
  local mq = acemq.connect("memory://" .. tap.name())
  is(mq:run(), 0)
  mq:declare("q")
  for number = 1, 200 do
    mq:publish("q", tostring(number))
  end
  local handled = 0
  mq:consume("q", function()
    handled = handled + 1
    if handled == 60 then mq:stop() end
  end)
  is(mq:run({ count = 50 }), 50)
  is(handled, 50)
  is(mq:run(), 10)
  is(mq:run({ idle = 50 }), 140)
  is(mq:run({ timeout = 20 }), 0)
  mq:spawn(function() error("mine", 0) end)
  is({ pcall(mq.run, mq) }, { false, "mine" })
  mq:spawn(function() mq:run() end)
  raises("state", mq.run, mq)
end)

on_each("a publish that waits for room, or for resume_publishing(), holds nobody up", function(mq, queue)
  mq:declare({ queues = { { name = queue, type = "classic" } } })
  local ticks, failure = 0, nil
  mq:pause_publishing()
  mq:spawn(function()
    local _, raised = pcall(mq.publish, mq, queue, "x", { timeout = 300 })
    failure = raised
    mq:resume_publishing()
    local publisher = mq:publisher({ routing_key = queue, window = 1000 })
    for number = 1, 200 do
      publisher:submit({ number = number })
    end
    is(#publisher:flush("30s"), 0)
    mq:stop()
  end)
  mq:spawn(function()
    while true do
      mq:sleep(5)
      ticks = ticks + 1
    end
  end)
  mq:run({ timeout = "60s" })
  ok(acemq.is_error(failure, "refused"), tostring(failure))
  ok(ticks >= 3, "nobody else ran meanwhile")
  tap.await(mq, "200 messages", function() return mq:count(queue) == 200 end)
end, { outstanding = 2 })

test("one loop for two connections, and a descriptor of the program's own", function()
  local loop = acemq.loop()
  local name = tap.name()
  local one = acemq.connect("memory://" .. name, { loop = loop })
  local other = acemq.connect("memory://" .. name, { loop = loop })
  one:declare("a")
  one:declare("b")
  local count = 0
  one:consume("a", function(message)
    one:publish("b", message.body)
  end)
  other:consume("b", function()
    count = count + 1
    if count == 40 then loop:stop() end
  end)
  for number = 1, 40 do
    one:publish("a", tostring(number))
  end
  ffi.cdef([[
    int acemq_test_pipe(int *ends) __asm__("pipe");
    long acemq_test_write(int, const void *, size_t) __asm__("write");
  ]])
  local ends, heard = ffi.new("int[2]"), nil
  ffi.C.acemq_test_pipe(ends)
  loop:spawn(function()
    ok(not loop:readable(ends[0], 10))
    ffi.C.acemq_test_write(ends[1], "x", 1)
    heard = loop:readable(ends[0], "10s")
  end)
  loop:run({ timeout = "30s" })
  is(count, 40)
  while heard == nil do
    loop:run({ timeout = 20 })
  end
  ok(heard)
end)

test("the descriptors work in a loop of the program's own", function()
  local mq = acemq.connect("memory://" .. tap.name())
  mq:declare("q")
  local consumer = mq:consume("q")
  ok(consumer:fd() >= 0 and mq:event_fd() >= 0)
  local publisher = mq:publisher({ routing_key = "q" })
  local receipt = publisher:submit("x")
  while not receipt.done do
    mq.loop:readable(mq:event_fd(), "10s")
    mq:dispatch()
  end
  ok(mq.loop:readable(consumer:fd(), "10s"))
  consumer:next(0):accept()
end)

local function ended_by_interrupt(program)
  local file = os.tmpname()
  local out = assert(io.open(file, "w"))
  out:write(program)
  out:close()
  local pipe = io.popen(("timeout --foreground --kill-after=20 --signal=INT 1 luajit %s 2>&1; echo $?"):format(file))
  local text = pipe:read("*a")
  pipe:close()
  os.remove(file)
  ok(text:find("interrupted!", 1, true) and not text:find("137", 1, true), text)
end

for _, case in ipairs({
  { "run()", 'mq:consume("q", function() end) mq:run()' },
  { "next()", 'mq:consume("q"):next()' },
  { "a handler", 'mq:publish("q", "x") mq:consume("q", function() mq:sleep("60s") end) mq:run()' },
  { "sleep()", "mq:sleep('60s')" },
}) do
  test("Ctrl-C ends " .. case[1], function()
    ended_by_interrupt(('local mq = require("acemq").connect("memory://x") mq:declare("q") %s'):format(case[2]))
  end)
end

tap.finish()
