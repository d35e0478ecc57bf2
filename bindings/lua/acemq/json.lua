--- JSON, both ways. Integers that a number cannot hold exactly are int64_t or uint64_t; null is values.null.
local ffi = require("ffi")
local bit = require("bit")
local values = require("acemq.values")

local json = {}

local DEPTH = 512
local byte, find, sub, char, format = string.byte, string.find, string.sub, string.char, string.format

local function fail(at, what)
  error(("JSON: %s at byte %d"):format(what, at), 0)
end

local function skip(text, at)
  return (find(text, "[^ \t\r\n]", at)) or #text + 1
end

local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function utf8_of(code)
  if code < 0x80 then
    return char(code)
  elseif code < 0x800 then
    return char(0xc0 + bit.rshift(code, 6), 0x80 + code % 64)
  elseif code < 0x10000 then
    return char(0xe0 + bit.rshift(code, 12), 0x80 + bit.rshift(code, 6) % 64, 0x80 + code % 64)
  end
  return char(0xf0 + bit.rshift(code, 18), 0x80 + bit.rshift(code, 12) % 64, 0x80 + bit.rshift(code, 6) % 64,
    0x80 + code % 64)
end

local function four_digits(text, at)
  local digits = text:match("^%x%x%x%x", at)
  return digits and tonumber(digits, 16) or fail(at, "expected four hexadecimal digits")
end

local function unicode(text, at)
  local code = four_digits(text, at)
  if code >= 0xdc00 and code <= 0xdfff then
    fail(at, "half of a surrogate pair")
  elseif code < 0xd800 or code > 0xdbff then
    return utf8_of(code), at + 4
  end
  if sub(text, at + 4, at + 5) ~= "\\u" then
    fail(at, "half of a surrogate pair")
  end
  local low = four_digits(text, at + 6)
  if low < 0xdc00 or low > 0xdfff then
    fail(at, "half of a surrogate pair")
  end
  return utf8_of(0x10000 + (code - 0xd800) * 1024 + low - 0xdc00), at + 10
end

local function string_at(text, at)
  local stop = find(text, '["\\%c]', at)
  if stop and byte(text, stop) == 34 then
    return sub(text, at, stop - 1), stop + 1
  end
  local parts = {}
  while true do
    stop = find(text, '["\\%z\1-\31]', at) or fail(at, "the string does not end")
    parts[#parts + 1] = sub(text, at, stop - 1)
    local sign = sub(text, stop, stop)
    if sign == '"' then
      return table.concat(parts), stop + 1
    elseif sign ~= "\\" then
      fail(stop, "a control character in a string")
    end
    local escape = sub(text, stop + 1, stop + 1)
    if escape == "u" then
      parts[#parts + 1], at = unicode(text, stop + 2)
    else
      parts[#parts + 1] = ESCAPES[escape] or fail(stop, "an unknown escape")
      at = stop + 2
    end
  end
end

-- Up to 19 digits; what is larger than its type comes as a double, as everywhere in JSON.
local function large_integer(digits)
  local negative = byte(digits) == 45
  local number, limit = 0ULL, negative and 0x8000000000000000ULL or 0xffffffffffffffffULL
  for index = negative and 2 or 1, #digits do
    local digit = byte(digits, index) - 48
    if number > (limit - digit) / 10ULL then
      return tonumber(digits)
    end
    number = number * 10ULL + digit
  end
  if negative then
    return -ffi.cast("int64_t", number)
  end
  return number <= 0x7fffffffffffffffULL and ffi.cast("int64_t", number) or number
end

local function number_at(text, at)
  local whole = text:match("^-?%d+", at) or fail(at, "expected a value")
  if find(whole, "^-?0%d") then
    fail(at, "a number that begins with 0")
  end
  local after = at + #whole
  local fraction = text:match("^%.%d+", after) or ""
  local exponent = text:match("^[eE][+-]?%d+", after + #fraction) or ""
  after = after + #fraction + #exponent
  if fraction ~= "" or exponent ~= "" then
    local number = tonumber(whole .. fraction .. exponent)
    if number == math.huge or number == -math.huge then
      fail(at, "a number out of range")
    end
    return number, after
  elseif #whole < 16 then
    return tonumber(whole), after
  end
  return values.integer(large_integer(whole)), after
end

local value_at
local kept_raw = {} -- names of members that are not read

local function array_at(text, at, depth)
  local list = values.array({})
  at = skip(text, at)
  if byte(text, at) == 93 then
    return list, at + 1
  end
  while true do
    list[#list + 1], at = value_at(text, skip(text, at), depth + 1)
    at = skip(text, at)
    local sign = byte(text, at)
    if sign == 93 then
      return list, at + 1
    elseif sign ~= 44 then
      fail(at, "expected ',' or ']'")
    end
    at = at + 1
  end
end

local function object_at(text, at, depth)
  local object, key = {}
  at = skip(text, at)
  if byte(text, at) == 125 then
    return object, at + 1
  end
  while true do
    at = skip(text, at)
    if byte(text, at) ~= 34 then
      fail(at, "expected the name of a member")
    end
    key, at = string_at(text, at + 1)
    at = skip(text, at)
    if byte(text, at) ~= 58 then
      fail(at, "expected ':'")
    end
    local from = skip(text, at + 1)
    object[key], at = value_at(text, from, depth + 1)
    if kept_raw[key] then
      object[key] = values.raw(sub(text, from, at - 1))
    end
    at = skip(text, at)
    local sign = byte(text, at)
    if sign == 125 then
      return object, at + 1
    elseif sign ~= 44 then
      fail(at, "expected ',' or '}'")
    end
    at = at + 1
  end
end

local WORDS = { [102] = { "false", false }, [110] = { "null", values.null }, [116] = { "true", true } }

function value_at(text, at, depth)
  if depth > DEPTH then
    fail(at, ("nested deeper than the limit of %d levels"):format(DEPTH))
  end
  local sign = byte(text, at)
  if sign == 34 then
    return string_at(text, at + 1)
  elseif sign == 123 then
    return object_at(text, at + 1, depth)
  elseif sign == 91 then
    return array_at(text, at + 1, depth)
  end
  local word = WORDS[sign]
  if word and sub(text, at, at + #word[1] - 1) == word[1] then
    return word[2], at + #word[1]
  end
  return number_at(text, at)
end

--- The value of a document. Raises a text with the position when it is none. Members whose names are keys of `raw` come
-- as values.raw().
function json.decode(text, raw)
  kept_raw = raw or {}
  local value, after = value_at(text, skip(text, 1), 1)
  after = skip(text, after)
  if after <= #text then
    fail(after, "something follows the document")
  end
  return value
end

-- --- writing ---

local encode_to

local ESCAPED = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
  ["\t"] = "\\t" }

local function quoted(text)
  return '"' .. text:gsub('[%z\1-\31"\\]', function(sign)
    return ESCAPED[sign] or format("\\u%04x", byte(sign))
  end) .. '"'
end

local function number_text(number)
  if number ~= number or number == math.huge or number == -math.huge then
    error("JSON has no form for " .. tostring(number), 0)
  elseif number % 1 == 0 and number > -2 ^ 53 and number < 2 ^ 53 then
    return format("%d", number)
  end
  local short = format("%.15g", number)
  return tonumber(short) == number and short or format("%.17g", number)
end

local function encode_array(out, list, depth)
  if not values.array_size(list) then
    error("JSON has no form for an array that has names or holes beside its elements", 0)
  end
  out[#out + 1] = "["
  for index = 1, #list do
    if index > 1 then
      out[#out + 1] = ","
    end
    encode_to(out, list[index], depth + 1)
  end
  out[#out + 1] = "]"
end

local function encode_object(out, object, depth)
  local names = {}
  for name in pairs(object) do
    if type(name) ~= "string" then
      error("the name of a JSON member is a " .. type(name) .. " and not a string", 0)
    end
    names[#names + 1] = name
  end
  table.sort(names) -- so that the same value always has the same text
  for index, name in ipairs(names) do
    out[#out + 1] = (index == 1 and "{" or ",") .. quoted(name) .. ":"
    encode_to(out, object[name], depth + 1)
  end
  out[#out + 1] = #names == 0 and "{}" or "}"
end

local WRITERS = {
  string = function(out, value) out[#out + 1] = quoted(value) end,
  number = function(out, value) out[#out + 1] = number_text(value) end,
  boolean = function(out, value) out[#out + 1] = value and "true" or "false" end,
  cdata = function(out, value)
    if not (ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)) then
      error("JSON has no form for " .. tostring(value), 0)
    end
    out[#out + 1] = tostring(value):match("^-?%d+")
  end,
  table = function(out, value, depth)
    if value == values.null then
      out[#out + 1] = "null"
    elseif values.is_raw(value) then
      out[#out + 1] = value.text
    elseif values.is_typed(value) then
      error("JSON has no form for " .. tostring(value), 0)
    elseif values.is_array(value) then
      encode_array(out, value, depth)
    else
      encode_object(out, value, depth)
    end
  end,
}

function encode_to(out, value, depth)
  local writer = WRITERS[type(value)]
  if not writer then
    error("JSON has no form for a " .. type(value), 0)
  end
  if depth > DEPTH then
    error(("the value is nested deeper than the limit of %d levels"):format(DEPTH), 0)
  end
  writer(out, value, depth)
end

--- The document of a value, its members in the order of their names.
function json.encode(value)
  local out = {}
  encode_to(out, value, 1)
  return table.concat(out)
end

return json
