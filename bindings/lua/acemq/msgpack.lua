--- MessagePack, both ways. Integers that a number cannot hold exactly are int64_t or uint64_t.
local ffi = require("ffi")
local values = require("acemq.values")

local msgpack = {}

local DEPTH = 32
local byte, sub, char = string.byte, string.sub, string.char
local number_view = ffi.new("union { uint8_t bytes[8]; float f; double d; int64_t i; uint64_t u; }")

local decode_at

local function need(text, at, count)
  if at + count - 1 > #text then
    error("the MessagePack document ends too early", 0)
  end
end

local function unsigned(text, at, count)
  need(text, at, count)
  local number = 0
  for index = at, at + count - 1 do
    number = number * 256 + byte(text, index)
  end
  return number, at + count
end

-- The union is little-endian on every machine that LuaJIT and libacemq share.
local function load_reversed(text, at, count)
  need(text, at, count)
  for index = 0, count - 1 do
    number_view.bytes[count - 1 - index] = byte(text, at + index)
  end
  return at + count
end

local function signed(text, at, count)
  local number, after = unsigned(text, at, count)
  local half = 2 ^ (8 * count - 1)
  return number >= half and number - 2 * half or number, after
end

local function text_of(text, at, count)
  need(text, at, count)
  return sub(text, at, at + count - 1), at + count
end

local function array_of(text, at, count, depth)
  local list = values.array({})
  for index = 1, count do
    list[index], at = decode_at(text, at, depth + 1)
  end
  return list, at
end

local function map_of(text, at, count, depth)
  local map, key = {}
  for _ = 1, count do
    key, at = decode_at(text, at, depth + 1)
    if key == values.null or key ~= key then
      error("a MessagePack map has a key that Lua cannot hold", 0)
    end
    map[key], at = decode_at(text, at, depth + 1)
  end
  return map, at
end

-- The extensions of a packed delivery; those of an application's documents are its own.
local of_headers = false

local function header_extension(kind, body)
  if kind == 1 and #body == 8 then
    load_reversed(body, 1, 8)
    return values.timestamp(values.integer(number_view.u))
  elseif kind == 2 and #body == 5 then
    return values.decimal((unsigned(body, 2, 4)), byte(body, 1))
  end
  return { extension = kind, data = body }
end

local function timestamp(body)
  if #body == 4 then
    return values.timestamp((unsigned(body, 1, 4)))
  end
  load_reversed(body, #body - 7, 8)
  if #body == 12 then
    return values.timestamp(values.integer(number_view.i) + unsigned(body, 1, 4) / 1e9)
  end
  local seconds = number_view.u % 0x400000000ULL
  return values.timestamp(tonumber(seconds) + tonumber(number_view.u / 0x400000000ULL) / 1e9)
end

local function extension(text, at, count)
  need(text, at, 1 + count)
  local kind, body = byte(text, at), sub(text, at + 1, at + count)
  at = at + 1 + count
  if of_headers then
    return header_extension(kind, body), at
  elseif kind == 255 and (count == 4 or count == 8 or count == 12) then
    return timestamp(body), at
  end
  return { extension = kind, data = body }, at
end

local READERS = {
  [0xc0] = function(_, at) return values.null, at end,
  [0xc2] = function(_, at) return false, at end,
  [0xc3] = function(_, at) return true, at end,
  [0xca] = function(text, at) at = load_reversed(text, at, 4) return tonumber(number_view.f), at end,
  [0xcb] = function(text, at) at = load_reversed(text, at, 8) return tonumber(number_view.d), at end,
  [0xcf] = function(text, at) at = load_reversed(text, at, 8) return values.integer(number_view.u), at end,
  [0xd3] = function(text, at) at = load_reversed(text, at, 8) return values.integer(number_view.i), at end,
}
for power, tags in pairs({
  [0] = { 0xc4, 0xd9, 0xcc, 0xd0, 0xc7 },
  [1] = { 0xc5, 0xda, 0xcd, 0xd1, 0xc8 },
  [2] = { 0xc6, 0xdb, 0xce, 0xd2, 0xc9 },
}) do
  local width = 2 ^ power
  local function sized(read)
    return function(text, at, depth)
      local count, after = unsigned(text, at, width)
      return read(text, after, count, depth)
    end
  end
  READERS[tags[1]], READERS[tags[2]] = sized(text_of), sized(text_of)
  READERS[tags[3]] = function(text, at) return unsigned(text, at, width) end
  READERS[tags[4]] = function(text, at) return signed(text, at, width) end
  READERS[tags[5]] = sized(extension)
  if power > 0 then
    READERS[0xdb + power] = sized(array_of)
    READERS[0xdd + power] = sized(map_of)
  end
end
for power = 0, 4 do
  READERS[0xd4 + power] = function(text, at) return extension(text, at, 2 ^ power) end
end

function decode_at(text, at, depth)
  need(text, at, 1)
  if depth > DEPTH + 2 then
    error(("the MessagePack document is nested deeper than the limit of %d levels"):format(DEPTH), 0)
  end
  local tag = byte(text, at)
  at = at + 1
  if tag < 0x80 then
    return tag, at
  elseif tag < 0x90 then
    return map_of(text, at, tag - 0x80, depth)
  elseif tag < 0xa0 then
    return array_of(text, at, tag - 0x90, depth)
  elseif tag < 0xc0 then
    return text_of(text, at, tag - 0xa0)
  elseif tag >= 0xe0 then
    return tag - 256, at
  end
  local read = READERS[tag]
  if not read then
    error(("0x%02x is no MessagePack"):format(tag), 0)
  end
  return read(text, at, depth)
end

--- The value of a document. Raises a text when it is none, or when something follows it.
function msgpack.decode(text)
  of_headers = false
  local value, after = decode_at(text, 1, 1)
  if after <= #text then
    error("something follows the MessagePack document", 0)
  end
  return value
end

--- The map of acemq_delivery_pack(), whose extensions are those of header tables.
function msgpack.decode_delivery(text)
  of_headers = true
  return (decode_at(text, 1, 1))
end

-- --- writing ---

local encode_to

local function big_endian(number, count)
  local out = {}
  for index = count, 1, -1 do
    out[index] = char(number % 256)
    number = math.floor(number / 256)
  end
  return table.concat(out)
end

local function stored(field, value, count)
  number_view[field] = value
  local out = {}
  for index = 1, count do
    out[index] = char(number_view.bytes[count - index])
  end
  return table.concat(out)
end

local function encode_number(out, value)
  if not values.is_whole(value) then
    out[#out + 1] = "\203" .. stored("d", value, 8)
  elseif value >= 0 and value < 128 then
    out[#out + 1] = char(value)
  elseif value < 0 and value >= -32 then
    out[#out + 1] = char(256 + value)
  else
    out[#out + 1] = "\211" .. stored("i", ffi.cast("int64_t", value), 8)
  end
end

local function encode_cdata(out, value)
  if ffi.istype("uint64_t", value) then
    out[#out + 1] = "\207" .. stored("u", value, 8)
  elseif ffi.istype("int64_t", value) then
    out[#out + 1] = "\211" .. stored("i", value, 8)
  else
    error("MessagePack has no form for " .. tostring(value), 0)
  end
end

local function sized_head(count, small, small_limit, tags)
  if count < small_limit then
    return char(small + count)
  elseif tags[1] and count < 2 ^ 8 then
    return char(tags[1], count)
  elseif count < 2 ^ 16 then
    return char(tags[2]) .. big_endian(count, 2)
  end
  return char(tags[3]) .. big_endian(count, 4)
end

local function encode_typed(out, value)
  if value.kind == "bytes" then
    out[#out + 1] = sized_head(#value.value, 0, 0, { 0xc4, 0xc5, 0xc6 })
    out[#out + 1] = value.value
  elseif value.kind == "double" or value.kind == "float" then
    out[#out + 1] = "\203" .. stored("d", value.value, 8)
  elseif value.kind == "timestamp" then
    out[#out + 1] = "\199\12\255\0\0\0\0" .. stored("i", ffi.cast("int64_t", value.value), 8)
  elseif value.kind == "decimal" then
    error("MessagePack has no form for a decimal", 0)
  else
    out[#out + 1] = "\211" .. stored("i", ffi.cast("int64_t", value.value), 8)
  end
end

local function encode_table(out, value, depth)
  if value == values.null then
    out[#out + 1] = "\192"
  elseif values.is_typed(value) then
    encode_typed(out, value)
  elseif values.is_array(value) then
    if not values.array_size(value) then
      error("MessagePack has no form for an array that has names or holes beside its elements", 0)
    end
    out[#out + 1] = sized_head(#value, 0x90, 16, { nil, 0xdc, 0xdd })
    for index = 1, #value do
      encode_to(out, value[index], depth + 1)
    end
  else
    local count = 0
    for _ in pairs(value) do
      count = count + 1
    end
    out[#out + 1] = sized_head(count, 0x80, 16, { nil, 0xde, 0xdf })
    for key, member in pairs(value) do
      encode_to(out, key, depth + 1)
      encode_to(out, member, depth + 1)
    end
  end
end

local WRITERS = {
  string = function(out, value)
    out[#out + 1] = sized_head(#value, 0xa0, 32, { 0xd9, 0xda, 0xdb })
    out[#out + 1] = value
  end,
  number = encode_number,
  boolean = function(out, value) out[#out + 1] = value and "\195" or "\194" end,
  cdata = encode_cdata,
  table = encode_table,
}

function encode_to(out, value, depth)
  local writer = WRITERS[type(value)]
  if not writer then
    error("MessagePack has no form for a " .. type(value), 0)
  end
  if depth > DEPTH then
    error(("the value is nested deeper than the limit of %d levels"):format(DEPTH), 0)
  end
  writer(out, value, depth)
end

--- The document of a value. A string goes as text; values.bytes() makes it bytes.
function msgpack.encode(value)
  local out = {}
  encode_to(out, value, 1)
  return table.concat(out)
end

return msgpack
