-- Values: headers of every type, 64-bit integers exactly, bodies as JSON and MessagePack.
local ffi = require("ffi")
local acemq = require("acemq")
local tap = require("tap")

local on_each, test, is, ok, raises = tap.on_each, tap.test, tap.is, tap.ok, tap.raises

local HEADERS = {
  beyond = 9007199254740993LL, -- 2^53 + 1
  lowest = ffi.cast("int64_t", 0x8000000000000000ULL), -- -2^63
  largest = 9223372036854775807LL,
  small = 7,
  negative = -9007199254740992,
  fraction = 0.5,
  truth = true,
  nothing = acemq.null,
  text = "gr\195\188\195\159e",
  with_nul = "a\0b",
  invalid = "\255\254",
  bytes = acemq.bytes("\0\1\255"),
  nested = { deeper = { deepest = { 1, "two", { three = 3 } } }, empty = {} },
  list = { 1, 2.5, "x", false, acemq.null },
  empty_list = acemq.array(),
  moment = acemq.timestamp(1700000000),
  price = acemq.decimal(1999, 2),
  byte = acemq.int8(-5),
  word = acemq.uint16(65535),
  double = acemq.double(2),
}

local function compare(got)
  for name, wanted in pairs(HEADERS) do
    local value = got[name]
    if name == "bytes" then
      is(value, "\0\1\255", name)
    elseif name == "byte" or name == "word" or name == "double" then
      is(value, wanted.value, name)
    elseif type(wanted) == "cdata" then
      ok(ffi.istype("int64_t", value) and value == wanted, name .. " is " .. tostring(value))
    else
      is(value, wanted, name)
    end
  end
  for name in pairs(got) do
    ok(HEADERS[name] ~= nil, "an unexpected header: " .. name)
  end
end

on_each("2^53+1, -2^63, NUL, invalid UTF-8, nested tables and void arrive exactly, and unchanged after a retry",
  function(mq, queue)
    mq:declare(queue)
    mq:publish(queue, "x", { headers = HEADERS })
    local attempts, typed = 0, nil
    local consumer = mq:consume(queue, function(message)
      attempts = attempts + 1
      compare(message.headers)
      local names = {}
      for name, value in pairs(acemq.json.decode(message:typed_headers())) do
        names[name] = not name:find("^x%-acemq") and value or nil
      end
      typed = typed or names
      is(names, typed, "types after a retry")
      if message.attempt == 1 then
        error("again")
      end
    end, { retry = "fixed(2, 10ms)" })
    mq:run({ count = 2, timeout = "30s" })
    consumer:drain()
    is({ attempts, consumer:counters().acknowledged }, { 2, 1 })
    is({ typed.bytes.type, typed.byte.type, typed.double.type, typed.lowest.value },
      { "bytes", "int8", "double", ffi.cast("int64_t", 0x8000000000000000ULL) })
  end)

on_each("what no header can hold is refused by name", function(mq, queue)
  for name, value in pairs({ a = print, b = ffi.new("int[1]"), c = 2ULL ^ 63 }) do
    local err = select(2, pcall(mq.publish, mq, queue, "x", { headers = { [name] = value } }))
    ok(acemq.is_error(err) and err.field == name, tostring(err))
  end
  raises("invalid_argument", mq.publish, mq, queue, "x", { headers = { [1] = "x", y = 2 } })
  raises("reserved_header", mq.publish, mq, queue, "x", { headers = { ["x-acemq-id"] = "x" } })
  local cycle = {}
  cycle.cycle = cycle
  is(raises("limit", mq.publish, mq, queue, "x", { headers = cycle }).limit, 32)
  raises("invalid_argument", mq.publish, mq, queue, "x", { headers = { n = 0 / 0 } })
end)

test("JSON: exact integers, escapes, and the position of what is wrong", function()
  local json = acemq.json
  for text, wanted in pairs({
    ['9007199254740993'] = 9007199254740993LL, ['-9223372036854775808'] = ffi.cast("int64_t", 0x8000000000000000ULL),
    ['18446744073709551615'] = 18446744073709551615ULL,
    ['"\\u00fc\\ud83d\\ude00\\n\\/"'] = "\195\188\240\159\152\128\n/",
    [' [ ] '] = {}, ['{"a":{"b":[1,-2.5e3,true,null]}}'] = { a = { b = { 1, -2500, true, acemq.null } } },
    ['100000000000000000000'] = 1e20, ['0.1'] = 0.1, ['"\127"'] = "\127",
  }) do
    local got = json.decode(text)
    if type(wanted) == "cdata" then
      ok(got == wanted and ffi.typeof(got) == ffi.typeof(wanted), text .. " is " .. tostring(got))
    else
      is(got, wanted, text)
    end
  end
  for _, text in ipairs({ "", "{", "[1,]", '{"a"}', "01", "tru", '"\\x"', '"\\ud800"', "1 2", '"a\nb"', "nul", "-",
    "[1", '{"a":1,}', "1e999", "+1", ".5", "1.", '"', "'a'" }) do
    local fine, raised = pcall(json.decode, text)
    ok(not fine and raised:find("JSON: .* at byte %d"), text .. " was read: " .. tostring(raised))
  end
  for _, value in ipairs({ { b = 1, a = { 1, acemq.null, "x\0\"\\" } }, 1e300, 0.1, -0.5, 9007199254740993LL,
    18446744073709551615ULL, acemq.array(), 1 / 3 }) do
    is(json.decode(json.encode(value)), value)
  end
  is(json.encode({ b = 1, a = {} }), '{"a":{},"b":1}')
  for _, value in ipairs({ 0 / 0, 1 / 0, print, { [1.5] = 1 }, acemq.bytes("x") }) do
    ok(not pcall(json.encode, value), "JSON of " .. tostring(value))
  end
  ok(not pcall(json.decode, ("["):rep(600)), "600 levels")
end)

test("MessagePack: every form, both ways", function()
  local pack = acemq.msgpack
  for _, value in ipairs({ 0, 127, 128, -1, -32, -33, 65536, -2147483649, 9007199254740993LL, 18446744073709551615ULL,
    0.1, true, false, "", ("s"):rep(40), ("s"):rep(300), ("s"):rep(70000), { 1, { 2 } }, { a = { b = "c" } },
    acemq.array() }) do
    is(pack.decode(pack.encode(value)), value)
  end
  local long = acemq.array({})
  for index = 1, 70000 do
    long[index] = index
  end
  is(#pack.decode(pack.encode(long)), 70000)
  is(pack.decode("\202\63\128\0\0"), 1)
  is(pack.decode("\209\255\0"), -256)
  is(pack.decode(pack.encode(acemq.bytes("\0\255"))), "\0\255")
  is(pack.decode("\214\255\0\0\0\9"), acemq.timestamp(9))
  is(pack.decode(pack.encode(acemq.timestamp(1700000000))), acemq.timestamp(1700000000))
  for _, text in ipairs({ "", "\193", "\217\5ab", "\146\1", "\129\192\1", "\1\2", ("\145"):rep(100) }) do
    ok(not pcall(pack.decode, text), ("it was read: %q"):format(text))
  end
end)

on_each("large integers and null in bodies, by JSON and MessagePack", function(mq, queue)
  mq:declare(queue)
  local consumer = mq:consume(queue)
  for _, codec in ipairs({ "json", "msgpack" }) do
    local body = { n = 9007199254740993LL, low = ffi.cast("int64_t", 0x8000000000000000ULL), none = acemq.null }
    mq:publish(queue, body, { codec = codec })
    local message = consumer:next("10s")
    is(message.body, body)
    message:accept()
  end
end)

test("a message as it lay in a queue is put back with its headers as they are", function()
  local mq = acemq.connect("memory://" .. tap.name())
  mq:declare("q")
  mq:publish("q", "x", { id = "kept", headers = HEADERS })
  local consumer = mq:consume("q")
  local message = consumer:next("10s")
  local headers = message:typed_headers()
  message:accept()
  local again = acemq.verbatim("y", headers, { content_type = "text/plain", message_id = "kept", priority = 2 })
  mq:publisher():send(again, { routing_key = "q" })
  message = consumer:next("10s")
  is({ message.id, message.body, message.properties.priority }, { "kept", "y", 2 })
  is(message:typed_headers(), headers)
  message:accept()
end)

tap.finish()
