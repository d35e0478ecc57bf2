--- Errors: tables with `code`, `name`, `message`, `field`, `limit`, `reply_code`, `retriable` and `fatal`.
-- They are raised with error(); tostring() gives "name: message".
local ffi = require("ffi")
local lib = require("acemq.library")

local errors = {}

local Error = {}
Error.__index = Error
Error.__tostring = function(self)
  return self.name .. ": " .. self.message
end

local new_slot = ffi.typeof("acemq_error *[1]")
local EXACT = 2 ^ 53

--- Status codes by name: errors.codes.timeout is 30.
errors.codes = {}
for code = 1, 127 do
  local name = ffi.string(lib.acemq_status_name(code))
  if name ~= "unknown" then
    errors.codes[name] = code
  end
end

--- Room for the error of one call.
function errors.slot()
  return new_slot()
end

local function limit_of(err)
  local limit = lib.acemq_error_limit(err)
  local number = tonumber(limit)
  return (number <= EXACT and number >= -EXACT) and number or limit
end

--- A table from a borrowed error; nil for none.
function errors.read(err)
  if err == nil then
    return nil
  end
  return setmetatable({
    code = lib.acemq_error_code(err),
    name = ffi.string(lib.acemq_error_name(err)),
    message = ffi.string(lib.acemq_error_message(err)),
    field = ffi.string(lib.acemq_error_field(err)),
    limit = limit_of(err),
    reply_code = lib.acemq_error_reply_code(err),
    retriable = lib.acemq_error_is_retriable(err) == 1,
    fatal = lib.acemq_error_is_fatal(err) == 1,
  }, Error)
end

--- A table from what a call left in its slot, which is freed.
function errors.take(slot)
  local err = errors.read(slot[0])
  lib.acemq_error_free(slot[0])
  slot[0] = nil
  return err
end

--- Raises what a call answered, unless it is fine.
function errors.check(status, slot)
  if status ~= 0 then
    error(errors.take(slot), 0)
  end
end

--- An error of the binding's own, with a name of the library's.
function errors.new(name, message, field, limit)
  return setmetatable({
    code = errors.codes[name],
    name = name,
    message = message,
    field = field or "",
    limit = limit or 0,
    reply_code = 0,
    retriable = false,
    fatal = name == "invalid_argument",
  }, Error)
end

function errors.raise(...)
  error(errors.new(...), 0)
end

--- A text for the library, which would see its end at a NUL: refused by name.
function errors.whole_text(text, field)
  if text:find("\0", 1, true) then
    errors.raise("invalid_argument", field .. " holds a NUL", field)
  end
  return text
end

--- Raises `closed` unless there is a handle; what it answers is that.
function errors.open(handle, what)
  if handle == nil then
    errors.raise("closed", what .. " was closed")
  end
  return handle
end

--- Whether something that was caught is an error of this library, perhaps of that name.
function errors.is(value, name)
  return getmetatable(value) == Error and (name == nil or value.name == name)
end

--- The text of whatever was raised: any Lua value can be.
function errors.text(value)
  if type(value) == "string" then
    return value
  end
  if type(value) == "table" and not (getmetatable(value) or {}).__tostring and type(value.message) == "string" then
    return value.message
  end
  local fine, text = pcall(tostring, value)
  return fine and type(text) == "string" and text or "an error that has no text"
end

return errors
