-- 10,000 messages through handlers that raise texts, tables and nil, leave loops, and are dropped while registered,
-- with the collector running all the time: nothing is lost, and memory stays flat. The first argument is another
-- number.
local tap = require("tap")

local is, ok = tap.is, tap.ok
local TOTAL = tonumber(arg[1]) or 10000

collectgarbage("setpause", 1) -- a new cycle begins as soon as one has ended
collectgarbage("setstepmul", 400)

local function resident_kib()
  local file = assert(io.open("/proc/self/statm"))
  local pages = file:read("*a"):match("^%d+ (%d+)")
  file:close()
  return tonumber(pages) * 4
end

local function publish_all(mq, queue, first, last)
  local publisher = mq:publisher({ routing_key = queue, window = 256 })
  for number = first, last do
    publisher:submit({ number = number }, { id = "m" .. number, headers = { number = number } })
  end
  is(#publisher:flush("120s"), 0)
  publisher:close()
end

-- Each message fails in its own way at its first attempt, and is handled at its second.
local WAYS = {
  function() error("a text") end,
  function() error({ message = "a table", filler = { {}, {}, {} } }) end,
  function() error(nil) end,
  function() error(setmetatable({}, { __tostring = function() return "an object" end })) end,
  function() return false, "no" end,
  function(message) message:fail("by itself") end,
}

local function handler_of(handled)
  return function(message)
    if message.attempt == 1 and message.body.number % 2 == 0 then
      return WAYS[message.body.number / 2 % #WAYS + 1](message)
    end
    is(message.headers.number, message.body.number)
    handled[message.body.number] = true
    handled.count = handled.count + 1
    if message.body.number % 50 == 0 then
      collectgarbage()
    end
  end
end

-- A loop that is left after ten messages, the eleventh in hand.
local function iterate(mq, queue, handled)
  local consumer, taken = mq:consume(queue, { codec = "json", prefetch = 20 }), 0
  for message in consumer:messages(100) do
    taken = taken + 1
    if taken > 10 then break end
    handled[message.body.number] = true
  end
  if taken % 2 == 0 then
    consumer:close()
  end
end

local function distinct(handled, first, last)
  local count = 0
  for number = first, last do
    count = count + (handled[number] and 1 or 0)
  end
  return count
end

local function round(mq, queue, handled, first, last)
  publish_all(mq, queue, first, last)
  for _ = 1, 3 do
    iterate(mq, queue, handled)
  end
  local registered = mq:consume(queue, handler_of(handled), { codec = "json", retry = "fixed(2, 1ms)", prefetch = 100 })
  local weak = setmetatable({ registered }, { __mode = "v" })
  registered = nil
  tap.await(mq, "all messages", function()
    mq:run({ idle = 100, timeout = "60s" })
    collectgarbage()
    return distinct(handled, first, last) == last - first + 1
  end)
  weak[1]:drain("30s")
  weak[1]:close()
end

tap.on_each(TOTAL .. " messages, the collector running all the time: nothing is lost, and memory is flat",
  function(mq, queue)
    mq:declare({ queues = { { name = queue, type = "classic" } } })
    local handled, rounds = { count = 0 }, TOTAL < 1000 and 5 or 10
    local size, early, early_lua = TOTAL / rounds, nil, nil
    for number = 1, rounds do
      round(mq, queue, handled, (number - 1) * size + 1, number * size)
      if number == 0.4 * rounds then
        collectgarbage()
        early, early_lua = resident_kib(), collectgarbage("count")
      end
    end
    collectgarbage()
    local grown, grown_lua = resident_kib() - early, collectgarbage("count") - early_lua
    print(("# grew by %d KiB, of Lua %d KiB, after %d of %d rounds"):format(grown, grown_lua, 0.4 * rounds, rounds))
    is(distinct(handled, 1, TOTAL), TOTAL)
    is({ mq:count(queue), mq:pending(queue), mq:pending(queue, "parked") }, { 0, 0, 0 })
    ok(arg[2] == "any-memory" or grown < 6 * 1024, "memory grows")
    ok(grown_lua < 1024, "memory of Lua grows")
  end)

tap.finish()
