-- Bodies, envelopes and messages as the protocol writes them.
local bit = require("bit")
local acemq = require("acemq")

local describe = {}

local null = acemq.null
local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PLACES = {}
for index = 1, #ALPHABET do
  PLACES[ALPHABET:byte(index)] = index - 1
end

function describe.to_base64(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local one, two, three = bytes:byte(at, at + 2)
    local group = one * 65536 + (two or 0) * 256 + (three or 0)
    for place = 0, 3 do
      local index = bit.band(bit.rshift(group, 18 - 6 * place), 63) + 1
      local given = place < 2 or (place == 2 and two) or (place == 3 and three)
      out[#out + 1] = given and ALPHABET:sub(index, index) or "="
    end
  end
  return table.concat(out)
end

function describe.from_base64(text)
  local out, group, bits = {}, 0, 0
  for index = 1, #text do
    local place = PLACES[text:byte(index)]
    if place then
      group, bits = group * 64 + place, bits + 6
      if bits >= 8 then
        bits = bits - 8
        local byte = math.floor(group / 2 ^ bits)
        out[#out + 1] = string.char(byte)
        group = group - byte * 2 ^ bits
      end
    end
  end
  return table.concat(out)
end

-- The body of a request or a message.
function describe.body_of(object)
  if object.bodyBase64 then
    return describe.from_base64(object.bodyBase64)
  end
  return object.body or ""
end

function describe.set_body(object, bytes)
  if pcall(acemq.codec_check, "text", bytes, "text/plain") then
    object.body = bytes
  else
    object.bodyBase64 = describe.to_base64(bytes)
  end
  return object
end

local ENVELOPE = {
  id = "id", type = "type", version = "version", correlation = "correlation", causation = "causation",
  attempt = "attempt", firstSeen = "first_seen", origin = "origin", error = "error", claim = "claim", route = "route",
  routePosition = "route_position", routeId = "route_id", replayedFrom = "replayed_from", replayedAt = "replayed_at",
  replayCount = "replay_count", replyTo = "reply_to",
}

function describe.envelope(of)
  local out = {}
  for name, member in pairs(ENVELOPE) do
    local value = of[member]
    out[name] = value == nil and null or value
  end
  return out
end

function describe.message(message)
  local out = { envelope = describe.envelope(message), headers = acemq.raw(message:headers_json()), properties = {} }
  for name, value in pairs(message.properties) do
    out.properties[name] = value
  end
  return describe.set_body(out, message.payload)
end

local OF_MESSAGE = {
  id = "id", type = "type", version = "version", correlation = "correlation", causation = "causation",
  origin = "origin", contentType = "content_type", headers = "headers", replyTo = "reply_to", priority = "priority",
  expiration = "expiration", transient = "transient",
}

-- The body and the options of a message to publish.
function describe.outgoing(wanted)
  local options = { codec = "bytes" }
  for name, value in pairs(wanted) do
    if OF_MESSAGE[name] then
      options[OF_MESSAGE[name]] = value ~= null and value or nil
    elseif name ~= "body" and name ~= "bodyBase64" then
      return nil
    end
  end
  return describe.body_of(wanted), options
end

return describe
