# frozen_string_literal: true

require "amq/protocol"
require "base64"
require "bigdecimal"
require "time"

module Standin
  # Headers, bodies and messages as the conformance protocol writes them, and as bunny has them.
  module Values
    # The letter that the client puts before a value, and the protocol's word for it.
    LETTERS = { "t" => "bool", "b" => "int8", "s" => "int16", "I" => "int32", "l" => "int64", "f" => "float",
                "d" => "double", "D" => "decimal", "S" => "longstr", "x" => "bytes", "A" => "array", "F" => "table",
                "T" => "timestamp", "V" => "void" }.freeze
    # Where the letter stands in a table of one value under the name k.
    LETTER_AT = 6

    module_function

    # A header that a request names, as this client takes it: it has one kind of integer and no bytes of their own.
    def from_wire_form(value)
      case value
      when Array then value.map { |item| from_wire_form(item) }
      when Hash
        return Base64.decode64(value["base64"]) if value.keys.sort == %w[base64 type]

        value.keys.sort == %w[type value] ? typed_in(value["type"], value["value"]) : value.transform_values { |item| from_wire_form(item) }
      else value
      end
    end

    def typed_in(kind, held)
      case kind
      when "bytes" then Base64.decode64(held)
      when "decimal" then BigDecimal(held)
      when "timestamp" then Time.at(held.to_i)
      when "void" then nil
      when "float", "double" then held.to_f
      when "array", "table" then from_wire_form(held)
      when "bool", "longstr" then held
      else Integer(held)
      end
    end

    # A header for an answer, in plain JSON where that says enough.
    def to_wire_form(value)
      case value
      when String then string_form(value)
      when Time then { "type" => "timestamp", "value" => value.to_i }
      when BigDecimal then { "type" => "decimal", "value" => value.to_s("F") }
      when Array then value.map { |item| to_wire_form(item) }
      when Hash then value.to_h { |name, item| [utf8(name), to_wire_form(item)] }
      else value
      end
    end

    def string_form(value)
      text = utf8(value)
      text.valid_encoding? ? text : { "type" => "longstr", "base64" => Base64.strict_encode64(value) }
    end

    # A header with the type that the client gives it on the wire.
    def typed(value)
      plain = to_wire_form(value)
      return plain if plain.is_a?(Hash) && plain.key?("type") && plain.size == 2

      { "type" => LETTERS.fetch(AMQ::Protocol::Table.encode("k" => value)[LETTER_AT]), "value" => plain }
    end

    def utf8(text)
      text.to_s.dup.force_encoding(Encoding::UTF_8)
    end

    def body_of(given)
      given["bodyBase64"] ? Base64.decode64(given["bodyBase64"]) : given["body"].to_s
    end

    def body_for(body)
      text = utf8(body)
      text.valid_encoding? ? { "body" => text } : { "bodyBase64" => Base64.strict_encode64(body) }
    end

    def maybe(value)
      value.nil? || value.to_s.empty? ? nil : to_wire_form(value)
    end

    # An envelope for an answer. The replay's stamps are ordinary headers to this peer.
    def envelope_for(read, reply_to = nil)
      stamps = read.headers
      { "id" => to_wire_form(read.id), "type" => to_wire_form(read.type), "version" => read.version,
        "correlation" => to_wire_form(read.correlation), "causation" => maybe(read.causation), "attempt" => read.attempt,
        "firstSeen" => read.first_seen, "origin" => maybe(read.origin), "error" => maybe(read.error),
        "claim" => maybe(read.claim), "route" => nil, "routePosition" => nil, "routeId" => nil,
        "replayedFrom" => maybe(stamps["acemq-replayed-from"]), "replayedAt" => replayed_at(stamps["acemq-replayed-at"]),
        "replayCount" => Envelope.number(stamps["acemq-replay-count"], 0),
        "replyTo" => maybe(stamps["acemq-reply-to"] || reply_to) }
    end

    def replayed_at(stamped)
      return stamped if stamped.nil? || stamped.is_a?(Integer)

      (Time.iso8601(stamped.to_s).to_r * 1000).to_i
    rescue ArgumentError
      nil
    end

    def properties_for(properties)
      stamped = properties[:timestamp]
      { "messageId" => maybe(properties[:message_id]), "contentType" => maybe(properties[:content_type]),
        "contentEncoding" => maybe(properties[:content_encoding]), "deliveryMode" => properties[:delivery_mode],
        "priority" => properties[:priority], "replyTo" => maybe(properties[:reply_to]),
        "correlationId" => maybe(properties[:correlation_id]), "type" => maybe(properties[:type]),
        "timestamp" => stamped&.to_i, "appId" => maybe(properties[:app_id]) }
    end

    # A message for an answer.
    def message_for(key, properties, body)
      read = Envelope.read(properties[:headers], key)
      { "envelope" => envelope_for(read, properties[:reply_to]), "headers" => to_wire_form(read.headers),
        "properties" => properties_for(properties) }.merge(body_for(body))
    end
  end
end
