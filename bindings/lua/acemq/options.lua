--- Options: a Lua table into a struct of the library, each member by its name and kind.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local values = require("acemq.values")

local options = {}

local FOREVER = 0x7fffffffffffffffLL

local function wrong(field, wanted, value)
  errors.raise("invalid_argument", ("option '%s' wants %s and has a %s"):format(field, wanted, type(value)), field)
end

--- Milliseconds: a number, a text such as "10s", or math.huge (also "forever") for no limit.
function options.duration(value, field)
  if value == math.huge or value == "forever" then
    return FOREVER
  elseif type(value) == "number" and value == value then
    return value >= 2 ^ 63 and FOREVER or ffi.cast("int64_t", math.max(math.ceil(value), -1))
  elseif type(value) == "string" then
    local slot, milliseconds = errors.slot(), ffi.new("int64_t[1]")
    if lib.acemq_duration_parse(value, milliseconds, slot) ~= 0 then
      local err = errors.take(slot)
      err.field = field or "timeout"
      err.message = err.field .. ": " .. err.message
      error(err, 0)
    end
    return milliseconds[0]
  elseif ffi.istype("int64_t", value) then
    return value
  end
  return wrong(field or "timeout", "milliseconds or a duration", value)
end

local KINDS = {
  duration = options.duration,
  text = function(value, field)
    if type(value) ~= "string" then
      wrong(field, "a string", value)
    end
    return errors.whole_text(value, field)
  end,
  number = function(value, field)
    return (type(value) == "number" or type(value) == "cdata") and value or wrong(field, "a number", value)
  end,
  flag = function(value, field)
    if type(value) ~= "boolean" then
      wrong(field, "true or false", value)
    end
    return value and 1 or 0
  end,
}

-- A number that its member cannot hold has become another one there.
local function check_number(held, value, field)
  if tonumber(held) ~= tonumber(value) then
    errors.raise("invalid_argument", ("option '%s' is %s, which is no whole number or too large"):format(field,
      tostring(value)), field)
  end
end

--- A whole number of 32 bits, else it is refused by name.
function options.number(value, field)
  local held = ffi.new("int32_t[1]", KINDS.number(value, field))
  check_number(held[0], value, field)
  return value
end

--- A kind of option that is one of the words of `choices`, a table from words to numbers.
function options.one_of(choices)
  return function(value, field)
    if choices[value] then
      return choices[value]
    end
    local words = {}
    for word in pairs(choices) do
      words[#words + 1] = word
    end
    table.sort(words)
    return errors.raise("invalid_argument",
      ("option '%s' is '%s' and not one of %s"):format(field, tostring(value), table.concat(words, ", ")), field)
  end
end

--- Fills a struct of the type `name` from `given`, by `members`: names to kinds, or to functions that convert.
-- Members of `given` that stand in `others` are somebody else's; any that is unknown is refused. Answers the struct,
-- and what has to live as long as it is used.
-- calls: acemq_browser_options_init acemq_claim_directory_options_init acemq_connect_options_init
-- calls: acemq_consumer_options_init acemq_group_options_init acemq_idempotency_options_init acemq_metrics_options_init
-- calls: acemq_ordered_options_init acemq_outbox_options_init acemq_partitioning_init acemq_publisher_options_init
-- calls: acemq_relay_options_init acemq_replay_options_init
function options.fill(name, members, given, others)
  local struct = ffi.new("acemq_" .. name)
  local slot = errors.slot()
  local status = lib["acemq_" .. name .. "_init"](struct, ffi.sizeof(struct))
  errors.check(status, slot)
  local anchors = {}
  for field, value in pairs(given or {}) do
    local kind = members[field]
    if kind then
      local convert = KINDS[kind] or kind
      local converted = convert(value, field)
      anchors[#anchors + 1] = converted
      struct[field] = converted
      if kind == "number" then
        check_number(struct[field], converted, field)
      end
    elseif not (others and others[field]) then
      errors.raise("invalid_argument", ("there is no option '%s'"):format(tostring(field)), tostring(field))
    end
  end
  return struct, anchors
end

--- A text that may be nil; what is no string, or holds a NUL, is refused by name.
function options.text(value, field)
  if value == nil then
    return nil
  end
  return KINDS.text(value, field)
end

--- Refuses what `known` does not have.
function options.known(given, known)
  for field in pairs(given or {}) do
    if not known[field] then
      errors.raise("invalid_argument", ("there is no option '%s'"):format(tostring(field)), tostring(field))
    end
  end
end

--- A counters struct as a table; 64-bit counters are numbers.
function options.counters(struct, names)
  local out = {}
  for _, name in ipairs(names) do
    out[name] = values.integer(struct[name])
  end
  return out
end

return options
