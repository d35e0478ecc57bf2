--- Envelopes, and the frames of bodies, as they cross the wire: for tools and tests.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local values = require("acemq.values")

local frames = {}

local TEXTS = { "id", "type", "correlation", "causation", "origin", "error", "claim", "replayed_from", "reply_to",
  "route_id" }
local CLAIM_FRAMES = { [0] = "none", "inline", "stored" }

local function json_of(headers, typed)
  local slot, out = errors.slot(), ffi.new("char *[1]")
  errors.check(lib.acemq_table_format_json(headers, typed, out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return text
end

-- calls: acemq_envelope_id acemq_envelope_type acemq_envelope_correlation acemq_envelope_causation
-- calls: acemq_envelope_origin acemq_envelope_error acemq_envelope_claim acemq_envelope_replayed_from
-- calls: acemq_envelope_reply_to acemq_envelope_route_id
local function members_of(envelope)
  local out, time = {}, ffi.new("int64_t[1]")
  for _, name in ipairs(TEXTS) do
    local text = lib["acemq_envelope_" .. name](envelope)
    out[name] = text ~= nil and ffi.string(text) or nil
  end
  out.version = lib.acemq_envelope_version(envelope)
  out.attempt = lib.acemq_envelope_attempt(envelope)
  out.replay_count = lib.acemq_envelope_replay_count(envelope)
  local seen = values.integer(lib.acemq_envelope_first_seen(envelope))
  out.first_seen = seen ~= 0 and seen or nil
  if lib.acemq_envelope_replayed_at(envelope, time) == 1 then
    out.replayed_at = values.integer(time[0])
  end
  local steps = tonumber(lib.acemq_envelope_route_count(envelope))
  if steps > 0 then
    out.route, out.route_position = values.array({}), lib.acemq_envelope_route_position(envelope)
    for index = 0, steps - 1 do
      out.route[index + 1] = ffi.string(lib.acemq_envelope_route_step(envelope, index))
    end
  end
  return out
end

--- Reads an envelope out of headers (a table, or values.raw() of JSON text): its members under the names of a received
-- message; the application's headers, and all headers as they are written again, as JSON text.
function frames.envelope(headers, routing_key, message_id)
  local from, slot = values.table_of(headers or {}), errors.slot()
  local out, tables = ffi.new("acemq_envelope *[1]"), ffi.new("acemq_table *[2]")
  errors.check(lib.acemq_envelope_read(from, routing_key, message_id, out, slot), slot)
  local envelope = ffi.gc(out[0], lib.acemq_envelope_free)
  errors.check(lib.acemq_envelope_application_headers(from, tables, slot), slot)
  local application = ffi.gc(tables[0], lib.acemq_table_free)
  errors.check(lib.acemq_table_copy(from, tables + 1, slot), slot)
  local written = ffi.gc(tables[1], lib.acemq_table_free)
  errors.check(lib.acemq_envelope_write(envelope, written, slot), slot)
  return members_of(envelope), json_of(application, 0), json_of(written, 1)
end

--- What a body framed for the claim check is: "none", "inline" or "stored", and the rest.
function frames.read_claim(body)
  local slot, frame, rest = errors.slot(), ffi.new("acemq_claim_frame[1]"), ffi.new("acemq_bytes")
  errors.check(lib.acemq_claim_frame_read(values.view(body), frame, rest, slot), slot)
  return CLAIM_FRAMES[tonumber(frame[0])], ffi.string(rest.data, rest.length)
end

--- Writes such a frame.
function frames.write_claim(frame, rest)
  local slot, out, length = errors.slot(), ffi.new("void *[1]"), ffi.new("size_t[1]")
  local number = ({ none = 0, inline = 1, stored = 2 })[frame]
  errors.check(lib.acemq_claim_frame_write(number, values.view(rest), out, length, slot), slot)
  local framed = ffi.string(out[0], length[0])
  lib.acemq_free(out[0])
  return framed
end

--- The parts of an encrypted body: key_id, authenticated, nonce, ciphertext, tag. Nothing is decrypted.
function frames.read_encrypted(body)
  local slot, frame, out = errors.slot(), ffi.new("acemq_encrypted_frame"), {}
  errors.check(lib.acemq_encrypted_frame_read(values.view(body), frame, slot), slot)
  for _, name in ipairs({ "key_id", "authenticated", "nonce", "ciphertext", "tag" }) do
    out[name] = ffi.string(frame[name].data, frame[name].length)
  end
  return out
end

return frames
