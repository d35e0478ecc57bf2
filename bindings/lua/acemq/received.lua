--- Messages that arrived.
--
-- `body` is decoded. Further members: id, type, version, correlation, causation, attempt, first_seen, origin, error,
-- claim, route, route_position, route_id, replayed_from, replayed_at, replay_count, reply_to, headers, properties,
-- queue, exchange, routing_key, redelivered, content_type, payload (the bytes). All of them stay readable after it is
-- settled.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local msgpack = require("acemq.msgpack")
local values = require("acemq.values")

local received = {}

local Message = {}

local OUTCOMES = {
  accepted = lib.ACEMQ_ACCEPTED,
  failed = lib.ACEMQ_FAILED,
  rejected = lib.ACEMQ_REJECTED,
  parked = lib.ACEMQ_PARKED,
}
received.outcomes = OUTCOMES

local OF_ENVELOPE = {
  id = "id", type = "type", version = "version", correlation = "correlation", causation = "causation",
  attempt = "attempt", first_seen = "firstSeen", origin = "origin", error = "error", claim = "claim", route = "route",
  route_position = "routePosition", route_id = "routeId", replayed_from = "replayedFrom", replayed_at = "replayedAt",
  replay_count = "replayCount", reply_to = "replyTo",
}
local OF_MAP = { headers = "headers", properties = "properties", queue = "queue", exchange = "exchange",
  routing_key = "routingKey", redelivered = "redelivered" }

local function absent_is_nil(map)
  for name, value in pairs(map) do
    if value == values.null then
      map[name] = nil
    end
  end
  return map
end

local function unpacked(self)
  local map = rawget(self, "_map")
  if not map then
    map = msgpack.decode_delivery(rawget(self, "_packed"))
    map.envelope = absent_is_nil(map.envelope)
    map.properties = absent_is_nil(map.properties)
    rawset(self, "_map", map)
  end
  return map
end

function Message.__index(self, name)
  if Message[name] then
    return Message[name]
  elseif OF_ENVELOPE[name] then
    return unpacked(self).envelope[OF_ENVELOPE[name]]
  elseif OF_MAP[name] then
    return unpacked(self)[OF_MAP[name]]
  end
  return nil
end

--- The library's delivery; raises `settled` when it was let go.
function Message:handle()
  local delivery = rawget(self, "_delivery")
  if delivery == nil then
    errors.raise("settled", "the message was let go: it was settled, and its handler has returned")
  end
  return delivery
end

local function settle(self, outcome, reason)
  local delivery, slot = self:handle(), errors.slot()
  errors.check(lib.acemq_delivery_settle(delivery, outcome, reason ~= nil and errors.text(reason) or nil, slot), slot)
  rawset(self, "settled", true)
  self:release()
end

--- Done: acknowledged. Like those below raises `settled` for a second time, and `stale` when the connection went first
-- and the broker delivers it again.
function Message:accept()
  settle(self, OUTCOMES.accepted)
end

--- Tried again as the policy says, at last among the dead letters.
function Message:fail(reason)
  settle(self, OUTCOMES.failed, reason)
end

--- Unprocessable: among the dead letters at once.
function Message:reject(reason)
  settle(self, OUTCOMES.rejected, reason)
end

--- In the parking lot at once.
function Message:park(reason)
  settle(self, OUTCOMES.parked, reason)
end

--- Back on its queue, without spending an attempt.
function Message:put_back()
  local delivery, slot = self:handle(), errors.slot()
  errors.check(lib.acemq_delivery_put_back(delivery, slot), slot)
  rawset(self, "settled", true)
  self:release()
end

local function headers_text(headers, typed)
  local slot, out = errors.slot(), ffi.new("char *[1]")
  errors.check(lib.acemq_table_format_json(headers, typed, out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return text
end

--- Every header with its AMQP type, reserved ones included, as JSON text. Like the next only while it is not settled.
function Message:typed_headers()
  return headers_text(lib.acemq_delivery_all_headers(self:handle()), 1)
end

--- The application's headers as JSON text, with their AMQP types where plain JSON would lose them.
function Message:headers_json()
  return headers_text(lib.acemq_delivery_headers(self:handle()), 0)
end

--- Lets the library's delivery go; one that is not settled goes back to its queue.
function Message:release()
  local delivery = rawget(self, "_delivery")
  if delivery == nil then
    return
  end
  rawset(self, "_delivery", nil)
  if rawget(self, "_owned") then
    ffi.gc(delivery, nil)
    lib.acemq_delivery_free(delivery)
  end
end

Message.__tostring = function(self)
  return ("message %s of %s"):format(self.id, self.queue)
end

local function text_or_empty(text)
  return text == nil and "" or ffi.string(text)
end

local function read(delivery, members)
  local slot, packed = errors.slot(), ffi.new("acemq_bytes")
  errors.check(lib.acemq_delivery_pack(delivery, packed, slot), slot)
  local body = lib.acemq_delivery_body(delivery)
  members._packed = ffi.string(packed.data, packed.length)
  members._delivery = delivery
  members.payload = ffi.string(body.data, body.length)
  members.content_type = text_or_empty(lib.acemq_delivery_property(delivery, lib.ACEMQ_PROPERTY_CONTENT_TYPE))
  members.settled = false
  return setmetatable(members, Message)
end

--- A message from a delivery that is ours to free; not decoded yet.
function received.own(delivery)
  return read(ffi.gc(delivery, lib.acemq_delivery_free), { _owned = true })
end

--- A message from a delivery that somebody else frees: release() it before that.
function received.borrow(delivery)
  return read(delivery, { _owned = false })
end

return received
