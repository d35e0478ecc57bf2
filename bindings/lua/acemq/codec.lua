--- Codecs: Lua values to bodies and back. A body that does not decode parks its message.
--
-- A codec here is a table: `handle` is the library's part (what a consumer checks, encryption, the claim check), and
-- `encode(value)` and `decode(payload, content_type)` are Lua's. `decode` raises what is wrong.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local json = require("acemq.json")
local msgpack = require("acemq.msgpack")
local options = require("acemq.options")
local values = require("acemq.values")

local codec = {}

local Codec = {}
Codec.__index = Codec

local function new(members)
  return setmetatable(members, Codec)
end

local function wants_text(name)
  return function(value)
    if type(value) ~= "string" then
      errors.raise("invalid_argument", ("the codec %s wants a string and got a %s"):format(name, type(value)), "body")
    end
    return value
  end
end

local function as_it_is(payload)
  return payload
end

local builtin = {
  json = new({ encode = json.encode, decode = json.decode }),
  msgpack = new({ encode = msgpack.encode, decode = msgpack.decode }),
  text = new({ encode = wants_text("text"), decode = as_it_is }),
  bytes = new({ encode = wants_text("bytes"), decode = as_it_is }),
}
for name, one in pairs(builtin) do
  one.name, one.handle = name, lib.acemq_codec_builtin(name)
end

local function reader_of(content_type)
  if content_type == "" then
    return builtin.bytes
  end
  for _, name in ipairs({ "json", "msgpack", "text" }) do
    if lib.acemq_codec_reads(name, content_type) == 1 then
      return builtin[name]
    end
  end
  return builtin.bytes
end

-- Tables go as JSON and strings as text; what arrives is read by its content type.
builtin.auto = new({
  name = "auto",
  handle = builtin.bytes.handle,
  writer_of = function(value)
    return type(value) == "string" and builtin.text or builtin.json
  end,
  decode = function(payload, content_type)
    local reader = reader_of(content_type)
    local slot = errors.slot()
    errors.check(lib.acemq_codec_check(reader.handle, values.view(payload), content_type, slot), slot)
    return reader.decode(payload, content_type)
  end,
})

--- The codec that `value` names or is: "auto" (default), "json", "text", "msgpack", "bytes", or one that was made here.
function codec.of(value)
  if getmetatable(value) == Codec then
    return value
  end
  local found = builtin[value or "auto"]
  if not found then
    errors.raise("invalid_argument", ("there is no codec '%s'"):format(tostring(value)), "codec")
  end
  return found
end

--- A codec of the application's own: `encode(value)` gives a string, `decode(bytes, content_type)` a value or an error.
-- `content_type` is written with every body.
function codec.new(members)
  options.known(members, { name = true, content_type = true, encode = true, decode = true })
  if type(members.encode) ~= "function" or type(members.decode) ~= "function" then
    errors.raise("invalid_argument", "a codec wants the functions encode and decode", "encode")
  end
  return new({
    name = options.text(members.name, "name") or "own",
    handle = builtin.bytes.handle,
    content_type = options.text(members.content_type, "content_type"),
    encode = function(value)
      return wants_text("that encode of the application's codec feeds")(members.encode(value))
    end,
    decode = members.decode,
  })
end

local function wrapped(handle, inner)
  return new({
    name = inner.name,
    handle = ffi.gc(handle, lib.acemq_codec_free),
    encode = inner.encode,
    decode = function(payload, content_type)
      return inner.decode(payload, content_type)
    end,
    inner = inner,
  })
end

local function inner_of(given)
  local inner = codec.of(given or "json")
  if inner.name == "auto" then
    errors.raise("invalid_argument", "a codec that wraps another wants one that is not auto", "inner")
  end
  return inner
end

--- Bodies that only the holders of a key read: `keys` is a table of ids to keys of 16, 24 or 32 bytes, `write_with` the
-- id of the one that writes, `inner` the codec inside (default "json").
function codec.encrypted(given)
  options.known(given, { keys = true, write_with = true, inner = true })
  local inner, slot, ring = inner_of(given.inner), errors.slot(), ffi.new("acemq_keyring *[1]")
  errors.check(lib.acemq_keyring_new(ring, slot), slot)
  local keyring = ffi.gc(ring[0], lib.acemq_keyring_free)
  for id, key in pairs(given.keys or {}) do
    errors.check(lib.acemq_keyring_add(keyring, id, values.view(key), slot), slot)
  end
  if given.write_with then
    errors.check(lib.acemq_keyring_write_with(keyring, given.write_with, slot), slot)
  elseif next(given.keys or {}) and next(given.keys, (next(given.keys))) then
    errors.raise("invalid_argument", "write_with names the key that writes, where there are several", "write_with")
  end
  local out = ffi.new("acemq_codec *[1]")
  errors.check(lib.acemq_codec_encrypted(keyring, inner.handle, out, slot), slot)
  return wrapped(out[0], inner)
end

-- A directory is the library's own store, with its files' limits and mode.
local function directory_store(given)
  local struct = options.fill("claim_directory_options", { largest = "number", mode = "number" },
    { largest = given.largest, mode = given.mode })
  local slot, out = errors.slot(), ffi.new("acemq_claim_store *[1]")
  errors.check(lib.acemq_claim_store_directory(given.directory, struct, out, slot), slot)
  return ffi.gc(out[0], lib.acemq_claim_store_free)
end

-- --- a store of the application's, in Lua ---

local function owned_text(call, ...)
  local slot, out, length = errors.slot(), ffi.new("void *[1]"), ffi.new("size_t[1]")
  local arguments = { ... }
  arguments[#arguments + 1] = out
  arguments[#arguments + 1] = length
  arguments[#arguments + 1] = slot
  errors.check(call(unpack(arguments)), slot)
  local text = ffi.string(out[0], length[0])
  lib.acemq_free(out[0])
  return text
end

local function new_id()
  local id = ffi.new("char[37]")
  lib.acemq_new_id(id)
  return ffi.string(id)
end

-- A store that fails is no verdict on the message: it is tried again.
local StoreFailure = {}

local function stored_payload(store, key)
  local fine, object = pcall(store.get, key)
  if not fine then
    error(setmetatable({ reason = errors.text(object) }, StoreFailure), 0)
  elseif object == nil then
    error(("the stored body '%s' does not exist"):format(key), 0)
  end
  return object
end

local function own_store(given, inner)
  local store, threshold = given.store, given.threshold or 65536
  local function encode(value)
    local body = owned_text(lib.acemq_codec_encode, inner.handle, values.view(inner.encode(value)))
    local frame, rest = lib.ACEMQ_CLAIM_INLINE, body
    if #body >= threshold then
      frame, rest = lib.ACEMQ_CLAIM_STORED, new_id()
      store.put(rest, body)
    end
    return owned_text(lib.acemq_claim_frame_write, frame, values.view(rest))
  end
  local function decode(body, content_type)
    local slot, frame, rest = errors.slot(), ffi.new("acemq_claim_frame[1]"), ffi.new("acemq_bytes")
    errors.check(lib.acemq_claim_frame_read(values.view(body), frame, rest, slot), slot)
    local framed = tonumber(frame[0]) == lib.ACEMQ_CLAIM_NONE and body or ffi.string(rest.data, rest.length)
    if tonumber(frame[0]) == lib.ACEMQ_CLAIM_STORED then
      framed = stored_payload(store, framed)
    end
    local payload = owned_text(lib.acemq_codec_decode, inner.handle, values.view(framed), content_type)
    return inner.decode(payload, content_type)
  end
  local content_type = inner.content_type or ffi.string(lib.acemq_codec_content_type(inner.handle))
  return new({ name = inner.name, handle = builtin.bytes.handle, content_type = content_type, encode = encode,
    decode = decode })
end

--- Large bodies lie in a store, and only their keys travel. `directory` is a folder that exists (with `largest`, bytes,
-- and `mode`, of the files), or `store` a table of `put(key, bytes)` and `get(key)`, whose nil parks the message and
-- whose error has it tried again. `threshold`: bytes from which on a body is stored, default 65536. `inner`: the codec
-- inside, default "json".
function codec.claim_check(given)
  options.known(given, { directory = true, store = true, threshold = true, inner = true, largest = true, mode = true })
  local inner = inner_of(given.inner)
  if type(given.store) == "table" then
    return own_store(given, inner)
  elseif type(given.directory) ~= "string" then
    errors.raise("invalid_argument", "a claim check wants a directory or a store", "directory")
  end
  local store = directory_store(given)
  local slot, out = errors.slot(), ffi.new("acemq_codec *[1]")
  errors.check(lib.acemq_codec_claim_check(inner.handle, store, given.threshold or 65536, out, slot), slot)
  local made = wrapped(out[0], inner)
  made.store, made.content_type = store, inner.content_type
  return made
end

--- Deletes a stored body of a claim check over a directory, when nobody needs it any more.
function Codec:remove_stored(key)
  if type(self.store) ~= "cdata" then
    errors.raise("unsupported", "this codec has no directory", "directory")
  end
  local slot = errors.slot()
  errors.check(lib.acemq_claim_store_remove(self.store, key, slot), slot)
end

--- Whether the codec "json", "text", "msgpack" or "bytes" reads a body of this content type.
function codec.reads(name, content_type)
  return lib.acemq_codec_reads(name, content_type) == 1
end

--- Raises `decode` when a body does not decode with one of them.
function codec.check(name, body, content_type)
  local one, slot = codec.of(name), errors.slot()
  errors.check(lib.acemq_codec_check(one.handle, values.view(body), content_type, slot), slot)
end

--- The body that a codec of this module writes for a value, and the value of a body, which raises `decode`.
function Codec:write(value)
  return owned_text(lib.acemq_codec_encode, self.handle, values.view(self.encode(value)))
end

function Codec:read(body, content_type)
  content_type = content_type or ffi.string(lib.acemq_codec_content_type(self.handle))
  return self.decode(owned_text(lib.acemq_codec_decode, self.handle, values.view(body), content_type), content_type)
end

--- What a body decodes to: true and the value; or false, why, and whether it may decode later.
function codec.decode(one, payload, content_type)
  local fine, value = pcall(one.decode, payload, content_type)
  if fine then
    return true, value
  elseif getmetatable(value) == StoreFailure then
    return false, value.reason, true
  end
  return false, errors.text(value), errors.is(value) and value.name ~= "decode"
end

return codec
