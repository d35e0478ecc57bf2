# frozen_string_literal: true

require "base64"

# How the protocol writes bodies, tables, envelopes and messages.
module Protocol
  class Unsupported < StandardError; end

  module_function

  def refuse(name, message) = raise(Acemq::Error.new(0, name, message))

  def policy_of(given, name) = given[name] && Acemq.policy_parse(given[name])

  def table_of(value) = value.nil? ? Acemq.table_new : Acemq.table_parse_json(JSON.generate(value))

  def table_json(table, typed = 0) = table && JSON.parse(Acemq.table_format_json(table, typed))

  def body_of(given)
    given["bodyBase64"] ? Base64.strict_decode64(given["bodyBase64"]) : given["body"] || ""
  end

  def body_json(body)
    text = body.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? ? { body: text } : { bodyBase64: Base64.strict_encode64(body) }
  end

  def route_json(envelope)
    steps = Array.new(Acemq.envelope_route_count(envelope)) { |step| Acemq.envelope_route_step(envelope, step) }
    return { route: nil, routePosition: nil, routeId: Acemq.envelope_route_id(envelope) } if steps.empty?

    { route: steps, routePosition: Acemq.envelope_route_position(envelope), routeId: Acemq.envelope_route_id(envelope) }
  end

  def envelope_json(envelope)
    members = %w[id type version correlation causation attempt origin error claim replayed_from replayed_at replay_count
                 reply_to]
    read = members.to_h do |name|
      [name.gsub(/_(.)/) { Regexp.last_match(1).upcase }, Acemq.public_send("envelope_#{name}", envelope)]
    end
    seen = Acemq.envelope_first_seen(envelope)
    read.merge("firstSeen" => seen.positive? ? seen : nil).merge(route_json(envelope))
  end

  TEXTS = { messageId: Acemq::PROPERTY_MESSAGE_ID, contentType: Acemq::PROPERTY_CONTENT_TYPE,
            contentEncoding: Acemq::PROPERTY_CONTENT_ENCODING, replyTo: Acemq::PROPERTY_REPLY_TO,
            correlationId: Acemq::PROPERTY_CORRELATION_ID, type: Acemq::PROPERTY_TYPE,
            appId: Acemq::PROPERTY_APP_ID }.freeze
  NUMBERS = { deliveryMode: Acemq::PROPERTY_DELIVERY_MODE, priority: Acemq::PROPERTY_PRIORITY,
              timestamp: Acemq::PROPERTY_TIMESTAMP }.freeze

  def delivery_json(delivery)
    properties = TEXTS.transform_values { |which| Acemq.delivery_property(delivery, which) }
    NUMBERS.each { |name, which| properties[name] = Acemq.delivery_property_number(delivery, which) }
    envelope = Acemq.delivery_envelope(delivery)
    listed = { envelope: envelope_json(envelope), headers: table_json(Acemq.delivery_headers(delivery)),
               properties: properties }.merge(body_json(Acemq.delivery_body(delivery)))
    Acemq.envelope_free(envelope) # a browser waits for it
    listed
  end

  SETTERS = { "id" => :id, "type" => :type, "version" => :version, "correlation" => :correlation,
              "causation" => :causation, "origin" => :origin, "contentType" => :content_type, "replyTo" => :reply_to,
              "priority" => :priority, "expiration" => :expiration }.freeze

  def message_of(given)
    wanted = given["message"] || {}
    strangers = wanted.keys - SETTERS.keys - %w[headers transient body bodyBase64]
    raise Unsupported, "a message has no such member here" unless strangers.empty?

    message = Acemq.message_new(body_of(wanted))
    SETTERS.each do |name, setter|
      Acemq.public_send("message_set_#{setter}", message, wanted[name]) unless wanted[name].nil?
    end
    Acemq.message_set_transient(message) if wanted["transient"]
    Acemq.message_set_headers(message, table_of(wanted["headers"]))
    message
  end
end
