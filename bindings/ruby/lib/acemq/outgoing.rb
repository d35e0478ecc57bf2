# frozen_string_literal: true

module AceMQ
  # Builds the library's message for a payload and its options.
  # @api private
  module Outgoing
    TEXTS = { id: :acemq_message_set_id, type: :acemq_message_set_type,
              correlation: :acemq_message_set_correlation, causation: :acemq_message_set_causation,
              origin: :acemq_message_set_origin, content_type: :acemq_message_set_content_type,
              reply_to: :acemq_message_set_reply_to }.freeze
    OTHERS = %i[version headers priority expiration transient caused_by].freeze
    NAMES = (TEXTS.keys + OTHERS).freeze

    module_function

    # Lends a message with the body to the block. The type, which nearly every message has, is taken apart from the other
    # options: then these are mostly empty.
    def with(codec, body, options, type: nil)
      message = codec.message(body)
      raise OutOfMemory if message.zero?

      begin
        Native.acemq_message_set_type(message, text(:type, type)) unless type.nil?
        apply(message, options) unless options.empty?
        yield message
      ensure
        Native.acemq_message_free(message)
      end
    end

    def encode(codec, payload)
      codec.dump(payload)
    rescue Error
      raise
    rescue StandardError => e
      raise DecodeError.new("the payload cannot be written: #{e.class}: #{e.message.lines.first&.chomp}", field: "payload")
    end

    def apply(message, options)
      options.each do |name, value|
        next if value.nil?

        setter = TEXTS[name]
        setter ? Native.public_send(setter, message, text(name, value)) : set(message, name, value)
      end
    end

    def text(name, value)
      text = value.to_s
      raise InvalidArgument.new("#{name} holds a NUL", field: name.to_s) if text.include?("\0")

      text
    end

    # What no int holds the library cannot refuse.
    def whole(name, value)
      return value if value.is_a?(Integer) && value.abs < 2**31

      raise InvalidArgument.new("#{name} is no whole number, or too large", field: name.to_s)
    end

    def set(message, name, value)
      case name
      when :version then Native.acemq_message_set_version(message, whole(name, value))
      when :headers then Headers.with(value) { |table| Native.acemq_message_set_headers(message, table) if table }
      when :priority then Native.acemq_message_set_priority(message, whole(name, value))
      when :expiration
        Native.acemq_message_set_expiration(message, Durations.milliseconds(value, "expiration"))
      when :transient then Native.acemq_message_set_transient(message) if value
      when :caused_by then Native.acemq_message_caused_by(message, value.pointer)
      else raise InvalidArgument.new("#{name} is none of #{NAMES.join(', ')}", field: name.to_s)
      end
    end
  end
end
