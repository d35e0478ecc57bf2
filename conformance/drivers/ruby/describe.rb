# frozen_string_literal: true

# How the protocol writes bodies, tables, envelopes and messages.
module Describe
  # What the binding has nothing for.
  class Unsupported < StandardError; end

  OPTIONS = { "id" => :id, "type" => :type, "version" => :version, "correlation" => :correlation,
              "causation" => :causation, "origin" => :origin, "contentType" => :content_type, "replyTo" => :reply_to,
              "priority" => :priority, "transient" => :transient }.freeze

  module_function

  def from_base64(text) = text.unpack1("m0")

  def to_base64(bytes) = [bytes].pack("m0")

  def body_of(given) = given["bodyBase64"] ? from_base64(given["bodyBase64"]) : given["body"] || ""

  def body_json(bytes)
    text = bytes.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? ? { body: text } : { bodyBase64: to_base64(bytes) }
  end

  def milliseconds(time) = time && (time.to_r * 1000).to_i

  def camel(name) = name.to_s.gsub(/_(.)/) { Regexp.last_match(1).upcase }

  def envelope_json(envelope)
    envelope.to_h.to_h { |name, value| [camel(name), value.is_a?(Time) ? milliseconds(value) : value] }
  end

  def message_json(message)
    { envelope: envelope_json(message.envelope_values), headers: JSON.parse(message.headers_json),
      properties: message.properties.transform_keys { |name| camel(name) } }.merge(body_json(message.body))
  end

  # The options of a message to publish.
  def options_of(wanted)
    strangers = wanted.keys - OPTIONS.keys - %w[headers expiration body bodyBase64]
    raise Unsupported, "a message has no such member here" unless strangers.empty?

    options = OPTIONS.to_h { |name, option| [option, wanted[name]] }.compact
    options[:headers] = AceMQ::Table.parse(JSON.generate(wanted["headers"])) if wanted["headers"]
    options[:expiration] = "#{wanted['expiration']}ms" if wanted["expiration"]
    options.merge(codec: :bytes)
  end
end
