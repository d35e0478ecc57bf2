-- How the protocol writes bodies, tables, envelopes and messages.
local acemq = require "acemq"
local json = require "json"

local protocol = {}

function protocol.unsupported(why)
    error { unsupported = why }
end

function protocol.refuse(name, message)
    error { name = name, message = message }
end

-- --- base64 ---

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

function protocol.base64(bytes)
    local parts = {}
    for at = 1, #bytes, 3 do
        local first, second, third = bytes:byte(at, at + 2)
        local group = first << 16 | (second or 0) << 8 | (third or 0)
        for place = 0, 3 do
            local digit = group >> (18 - 6 * place) & 63
            local is_there = place < 2 or (place == 2 and second) or (place == 3 and third)
            parts[#parts + 1] = is_there and alphabet:sub(digit + 1, digit + 1) or "="
        end
    end
    return table.concat(parts)
end

function protocol.bytes(encoded)
    local parts, group, bits = {}, 0, 0
    for character in encoded:gmatch("[^=]") do
        local digit = assert(alphabet:find(character, 1, true), "this is no base64")
        group, bits = group << 6 | (digit - 1), bits + 6
        if bits >= 8 then
            bits = bits - 8
            parts[#parts + 1] = string.char(group >> bits & 255)
        end
    end
    return table.concat(parts)
end

-- --- parameters and results ---

function protocol.policy(given, name)
    return given[name] and acemq.policy_parse(given[name]) or nil
end

function protocol.table(value)
    if value == nil or value == json.null then
        return acemq.table_new()
    end
    return acemq.table_parse_json(json.write(value))
end

function protocol.table_json(headers, typed)
    return headers and json.read(acemq.table_format_json(headers, typed or 0)) or json.null
end

function protocol.body(given)
    if given.bodyBase64 then
        return protocol.bytes(given.bodyBase64)
    end
    return given.body or ""
end

-- utf8.len() takes surrogates and more than Unicode has unless it is strict, which it is.
function protocol.set_body(result, body)
    if utf8.len(body) then
        result.body = body
    else
        result.bodyBase64 = protocol.base64(body)
    end
    return result
end

function protocol.envelope_json(envelope)
    local steps = json.list()
    for step = 0, acemq.envelope_route_count(envelope) - 1 do
        steps[#steps + 1] = acemq.envelope_route_step(envelope, step)
    end
    local seen = acemq.envelope_first_seen(envelope)
    local read = {
        id = acemq.envelope_id(envelope), type = acemq.envelope_type(envelope),
        version = acemq.envelope_version(envelope), correlation = acemq.envelope_correlation(envelope),
        causation = acemq.envelope_causation(envelope), attempt = acemq.envelope_attempt(envelope),
        firstSeen = seen > 0 and seen or nil, origin = acemq.envelope_origin(envelope),
        error = acemq.envelope_error(envelope), claim = acemq.envelope_claim(envelope),
        replayedFrom = acemq.envelope_replayed_from(envelope), replayedAt = acemq.envelope_replayed_at(envelope),
        replayCount = acemq.envelope_replay_count(envelope), replyTo = acemq.envelope_reply_to(envelope),
        route = #steps > 0 and steps or nil,
        routePosition = #steps > 0 and acemq.envelope_route_position(envelope) or nil,
        routeId = acemq.envelope_route_id(envelope),
    }
    for _, name in ipairs { "causation", "firstSeen", "origin", "error", "claim", "replayedFrom", "replayedAt", "replyTo",
        "route", "routePosition", "routeId" } do
        read[name] = read[name] == nil and json.null or read[name]
    end
    return read
end

local texts = { messageId = acemq.PROPERTY_MESSAGE_ID, contentType = acemq.PROPERTY_CONTENT_TYPE,
    contentEncoding = acemq.PROPERTY_CONTENT_ENCODING, replyTo = acemq.PROPERTY_REPLY_TO,
    correlationId = acemq.PROPERTY_CORRELATION_ID, type = acemq.PROPERTY_TYPE, appId = acemq.PROPERTY_APP_ID }
local numbers = { deliveryMode = acemq.PROPERTY_DELIVERY_MODE, priority = acemq.PROPERTY_PRIORITY,
    timestamp = acemq.PROPERTY_TIMESTAMP }

function protocol.delivery_json(delivery)
    local properties = {}
    for name, which in pairs(texts) do
        properties[name] = acemq.delivery_property(delivery, which)
    end
    for name, which in pairs(numbers) do
        properties[name] = acemq.delivery_property_number(delivery, which)
    end
    local envelope = acemq.delivery_envelope(delivery)
    local listed = { envelope = protocol.envelope_json(envelope),
        headers = protocol.table_json(acemq.delivery_headers(delivery)), properties = properties }
    acemq.envelope_free(envelope) -- a browser waits for it
    return protocol.set_body(listed, acemq.delivery_body(delivery))
end

local setters = { id = acemq.message_set_id, type = acemq.message_set_type, version = acemq.message_set_version,
    correlation = acemq.message_set_correlation, causation = acemq.message_set_causation,
    origin = acemq.message_set_origin, contentType = acemq.message_set_content_type,
    replyTo = acemq.message_set_reply_to, priority = acemq.message_set_priority,
    expiration = acemq.message_set_expiration }
local others = { headers = true, transient = true, body = true, bodyBase64 = true }

function protocol.message(given)
    local wanted = given.message or {}
    local message = acemq.message_new(protocol.body(wanted))
    for name, value in pairs(wanted) do
        if setters[name] and value ~= json.null then
            setters[name](message, value)
        elseif not setters[name] and not others[name] then
            protocol.unsupported("a message has no such member here")
        end
    end
    if wanted.transient == true then
        acemq.message_set_transient(message)
    end
    acemq.message_set_headers(message, protocol.table(wanted.headers))
    return message
end

return protocol
