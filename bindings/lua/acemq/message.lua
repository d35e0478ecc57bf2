--- Messages to publish: a payload and its options, as the library's message.
local ffi = require("ffi")
local lib = require("acemq.library")
local codec = require("acemq.codec")
local errors = require("acemq.errors")
local options = require("acemq.options")
local values = require("acemq.values")

local message = {}

local function set_text(setter)
  return function(handle, value, field)
    lib[setter](handle, options.text(value, field))
  end
end

-- One that was settled has no delivery any more, but all that is asked of it.
local function caused_by(handle, parent)
  if rawget(parent, "_delivery") then
    return lib.acemq_message_caused_by(handle, parent:handle())
  end
  lib.acemq_message_set_correlation(handle, parent.correlation)
  lib.acemq_message_set_causation(handle, parent.id)
  for _, name in ipairs({ "traceparent", "tracestate" }) do
    if type(parent.headers[name]) == "string" then
      lib.acemq_message_set_header(handle, name, parent.headers[name])
    end
  end
end

local SETTERS = {
  id = set_text("acemq_message_set_id"),
  type = set_text("acemq_message_set_type"),
  correlation = set_text("acemq_message_set_correlation"),
  causation = set_text("acemq_message_set_causation"),
  origin = set_text("acemq_message_set_origin"),
  content_type = set_text("acemq_message_set_content_type"),
  reply_to = set_text("acemq_message_set_reply_to"),
  version = function(handle, value) lib.acemq_message_set_version(handle, options.number(value, "version")) end,
  priority = function(handle, value) lib.acemq_message_set_priority(handle, options.number(value, "priority")) end,
  expiration = function(handle, value)
    lib.acemq_message_set_expiration(handle, options.duration(value, "expiration"))
  end,
  transient = function(handle, value)
    if value then
      lib.acemq_message_set_transient(handle)
    end
  end,
  headers = function(handle, value)
    lib.acemq_message_set_headers(handle, values.table_of(value))
  end,
  caused_by = caused_by,
  route = function(handle, route)
    options.known(route, { steps = true, position = true, id = true })
    lib.acemq_message_set_route(handle, options.text(table.concat(route.steps, ","), "route"),
      options.number(route.position or 0, "route"), options.text(route.id, "route"))
  end,
}

--- The names of a message's options.
message.options = { codec = true }
for name in pairs(SETTERS) do
  message.options[name] = true
end

local function encoded(one, payload)
  local writer = one.writer_of and one.writer_of(payload) or one
  if payload == nil then
    errors.raise("invalid_argument", "a message wants a body; acemq.null is JSON's null", "body")
  end
  local fine, body = pcall(writer.encode, payload)
  if not fine then
    errors.raise("decode", errors.text(body), "body")
  end
  local handle = lib.acemq_message_encoded(writer.handle, body, #body)
  if writer.content_type then
    lib.acemq_message_set_content_type(handle, writer.content_type)
  end
  return handle
end

--- A message of the library, freed when it is collected. `given`: id, type, version, correlation, causation, origin,
-- headers, content_type, reply_to, priority, expiration, transient, caused_by (a message that was received), route,
-- codec. `others` are option names that are somebody else's.
function message.build(payload, given, default_codec, others)
  given = given or {}
  if ffi.istype("acemq_message *", payload) then
    return payload -- of message.verbatim(), which is whole
  end
  local handle = ffi.gc(encoded(codec.of(given.codec or default_codec), payload), lib.acemq_message_free)
  for name, value in pairs(given) do
    local setter = SETTERS[name]
    if setter then
      setter(handle, value, name)
    elseif name ~= "codec" and not (others and others[name]) then
      errors.raise("invalid_argument", ("there is no option '%s'"):format(tostring(name)), tostring(name))
    end
  end
  return handle
end

--- A message as it lay in a queue, with its headers as they are, for putting back what was exported. `headers` is JSON
-- text, as received.typed_headers() gives it; `properties` a table of property names (content_type, message_id, …).
local PROPERTIES = {
  content_type = "ACEMQ_PROPERTY_CONTENT_TYPE", content_encoding = "ACEMQ_PROPERTY_CONTENT_ENCODING",
  delivery_mode = "ACEMQ_PROPERTY_DELIVERY_MODE", priority = "ACEMQ_PROPERTY_PRIORITY",
  correlation_id = "ACEMQ_PROPERTY_CORRELATION_ID", reply_to = "ACEMQ_PROPERTY_REPLY_TO",
  expiration = "ACEMQ_PROPERTY_EXPIRATION", message_id = "ACEMQ_PROPERTY_MESSAGE_ID",
  timestamp = "ACEMQ_PROPERTY_TIMESTAMP", type = "ACEMQ_PROPERTY_TYPE", user_id = "ACEMQ_PROPERTY_USER_ID",
  app_id = "ACEMQ_PROPERTY_APP_ID",
}

function message.verbatim(body, headers, properties)
  local slot, out = errors.slot(), ffi.new("acemq_table *[1]")
  errors.check(lib.acemq_table_parse_json(headers, #headers, out, slot), slot)
  local handle = ffi.gc(lib.acemq_message_verbatim(body, #body, out[0]), lib.acemq_message_free)
  lib.acemq_table_free(out[0])
  options.known(properties, PROPERTIES)
  for name, value in pairs(properties or {}) do
    if type(value) == "string" then
      lib.acemq_message_set_property(handle, lib[PROPERTIES[name]], value)
    else
      lib.acemq_message_set_property_number(handle, lib[PROPERTIES[name]], value)
    end
  end
  return handle
end

return message
