--- Values that Lua has no type for, and header tables.
-- A whole number goes as int64, another as double, a string as long string. What arrives as an integer is a number up
-- to 2^53 and an int64_t (or uint64_t) beyond, so that it stays exact.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")

local values = {}

local EXACT = 2 ^ 53
local DEPTH = 32
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

--- Stands for void in headers, nil in MessagePack and null in JSON, where nil could not stand.
values.null = setmetatable({}, {
  __tostring = function()
    return "null"
  end,
})

local Array = { __name = "acemq.array" }

--- Marks a table as an array, which an empty one would not be.
function values.array(list)
  return setmetatable(list or {}, Array)
end

--- Whether a table goes as an array: marked, or with something at 1.
function values.is_array(list)
  return getmetatable(list) == Array or list[1] ~= nil
end

--- How many elements an array has; nil when it has other members beside them, which would be lost.
function values.array_size(list)
  local members = 0
  for _ in pairs(list) do
    members = members + 1
  end
  return members == #list and members or nil
end

local Typed = {}
Typed.__index = Typed
Typed.__eq = function(one, other)
  return one.kind == other.kind and one.value == other.value and one.decimals == other.decimals
end
Typed.__tostring = function(self)
  return ("%s(%s)"):format(self.kind, tostring(self.value))
end

local function typed(kind, value)
  return setmetatable({ kind = kind, value = value }, Typed)
end

--- values.bytes(text), values.int8(n) … values.uint64(n), values.float(x), values.double(x), values.timestamp(seconds):
-- the same of another AMQP type.
for _, kind in ipairs({
  "bytes", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "double", "timestamp",
}) do
  values[kind] = function(value)
    return typed(kind, value)
  end
end

--- unscaled / 10^decimals
function values.decimal(unscaled, decimals)
  local value = typed("decimal", unscaled)
  value.decimals = decimals
  return value
end

local Raw = {}

--- JSON text that is passed on as it is: as a value of json.encode(), and as headers, where `{"type": T, "value": V}`
-- is a value of the AMQP type T.
function values.raw(text)
  return setmetatable({ text = text }, Raw)
end

function values.is_raw(value)
  return getmetatable(value) == Raw
end

function values.is_typed(value)
  return getmetatable(value) == Typed
end

--- A number where it is exact, else as it is.
function values.integer(number)
  local near = tonumber(number) -- rounded where it is not exact, and then beyond the limit or on it
  if near > -EXACT and near < EXACT then
    return near
  end
  return near == number and (near == EXACT or near == -EXACT) and near or number
end

--- True for numbers without a fraction that an int64 holds.
function values.is_whole(number)
  return number % 1 == 0 and number >= -2 ^ 63 and number < 2 ^ 63
end

local INTEGERS = {
  int8 = "ACEMQ_KIND_INT8", uint8 = "ACEMQ_KIND_UINT8", int16 = "ACEMQ_KIND_INT16", uint16 = "ACEMQ_KIND_UINT16",
  int32 = "ACEMQ_KIND_INT32", uint32 = "ACEMQ_KIND_UINT32", int64 = "ACEMQ_KIND_INT64", uint64 = "ACEMQ_KIND_UINT64",
}

local function view(text)
  return ffi.new("acemq_bytes", ffi.cast("const char *", text), #text)
end
values.view = view

local set_value, table_of

local function text_value(value, name)
  if type(value) ~= "string" then
    errors.raise("invalid_argument", ("header '%s' wants a string and has a %s"):format(name, type(value)), name)
  end
  return value
end

local function whole(value, name)
  if ffi.istype(uint64, value) and value > 0x7fffffffffffffffULL then
    errors.raise("limit", ("header '%s' is over the limit of 9223372036854775807"):format(name), name,
      0x7fffffffffffffffLL)
  end
  if type(value) == "number" and not values.is_whole(value) then
    errors.raise("invalid_argument", ("header '%s' wants a whole number"):format(name), name)
  end
  return int64(value)
end

local function set_typed(to, name, value, slot)
  local kind = value.kind
  if kind == "bytes" then
    return lib.acemq_table_set_bytes(to, name, view(text_value(value.value, name)), slot)
  elseif kind == "timestamp" then
    return lib.acemq_table_set_timestamp(to, name, whole(value.value, name), slot)
  elseif kind == "float" then
    return lib.acemq_table_set_float(to, name, value.value, slot)
  elseif kind == "double" then
    return lib.acemq_table_set_double(to, name, value.value, slot)
  elseif kind == "decimal" then
    return lib.acemq_table_set_decimal(to, name, value.decimals, value.value, slot)
  end
  return lib.acemq_table_set_integer(to, name, lib[INTEGERS[kind]], whole(value.value, name), slot)
end

local function set_array(to, name, list, slot, depth)
  local array = ffi.gc(lib.acemq_array_new(), lib.acemq_array_free)
  for index = 1, #list do
    local holder = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
    set_value(holder, "v", list[index], depth)
    errors.check(lib.acemq_array_append(array, lib.acemq_table_get(holder, "v"), slot), slot)
  end
  return lib.acemq_table_set_array(to, name, array, slot)
end

local function set_number(to, name, value, slot)
  if values.is_whole(value) then
    return lib.acemq_table_set_int64(to, name, int64(value), slot)
  end
  return lib.acemq_table_set_double(to, name, value, slot)
end

local function set_table(to, name, value, slot, depth)
  if value == values.null then
    return lib.acemq_table_set_void(to, name, slot)
  elseif values.is_typed(value) then
    return set_typed(to, name, value, slot)
  elseif values.is_array(value) then
    if not values.array_size(value) then
      errors.raise("invalid_argument", ("header '%s' is an array that has names or holes beside its elements")
        :format(name), name)
    end
    return set_array(to, name, value, slot, depth + 1)
  end
  return lib.acemq_table_set_table(to, name, table_of(value, depth + 1), slot)
end

local SETTERS = {
  string = function(to, name, value, slot)
    return lib.acemq_table_set_string_bytes(to, name, view(value), slot)
  end,
  number = set_number,
  boolean = function(to, name, value, slot)
    return lib.acemq_table_set_bool(to, name, value and 1 or 0, slot)
  end,
  cdata = function(to, name, value, slot)
    return lib.acemq_table_set_int64(to, name, whole(value, name), slot)
  end,
  table = set_table,
}

function set_value(to, name, value, depth)
  local setter = SETTERS[type(value)]
  if not setter or (type(value) == "cdata" and not (ffi.istype(int64, value) or ffi.istype(uint64, value))) then
    errors.raise("invalid_argument", ("header '%s' is a %s, which no header can hold"):format(name, type(value)), name)
  end
  if depth > DEPTH then
    errors.raise("limit", ("header '%s' is nested deeper than the limit of %d levels"):format(name, DEPTH), name, DEPTH)
  end
  local slot = errors.slot()
  errors.check(setter(to, name, value, slot, depth), slot)
end

function table_of(headers, depth)
  local to = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
  for name, value in pairs(headers) do
    if type(name) ~= "string" then
      errors.raise("invalid_argument", "the name of a header is a " .. type(name) .. " and not a string", "headers")
    end
    errors.whole_text(name, "header name")
    set_value(to, name, value, depth)
  end
  return to
end

--- A header table of the library from a Lua table; freed when it is collected.
function values.table_of(headers, field)
  if values.is_raw(headers) then
    local slot, out = errors.slot(), ffi.new("acemq_table *[1]")
    errors.check(lib.acemq_table_parse_json(headers.text, #headers.text, out, slot), slot)
    return ffi.gc(out[0], lib.acemq_table_free)
  elseif type(headers) ~= "table" then
    field = field or "headers"
    errors.raise("invalid_argument", ("%s is a %s and not a table"):format(field, type(headers)), field)
  end
  return table_of(headers, 1)
end

return values
