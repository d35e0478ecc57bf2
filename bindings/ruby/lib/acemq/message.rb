# frozen_string_literal: true

module AceMQ
  # A message that arrived. What it holds is read when it is asked for, and only until the message is settled and its
  # handler has returned: afterwards every reader raises StateError. One thread at a time.
  class Message
    ACCEPTED = 0
    FAILED = 1
    REJECTED = 2
    PARKED = 3

    UNREAD = Object.new.freeze
    private_constant :UNREAD

    # @api private
    def initialize(pointer, codec)
      @pointer = pointer
      @codec = codec
      @payload = UNREAD
      @settled = false
    end

    # @api private
    def pointer
      @pointer or raise StateError.new("the message was let go of: read it inside its handler", field: "message")
    end

    # @return [String] the bytes of the body, decrypted and fetched where the codec does so
    def body = Native.acemq_delivery_body(pointer).copy

    # @return [Object] the body as the codec reads it
    def payload
      @payload = decode if @payload.equal?(UNREAD)
      @payload
    end

    # @!group Envelope

    # @return [String] the message's id
    def id = Native.text(Native.acemq_envelope_id(envelope))

    # @return [String]
    def type = Native.text(Native.acemq_envelope_type(envelope))

    # @return [Integer] from 1
    def version = Native.acemq_envelope_version(envelope)

    # @return [Integer] from 1: how often it is being tried
    def attempt = Native.acemq_envelope_attempt(envelope)

    # @return [String]
    def correlation = Native.text(Native.acemq_envelope_correlation(envelope))

    # @return [String, nil]
    def causation = Native.text(Native.acemq_envelope_causation(envelope))

    # @return [String, nil]
    def origin = Native.text(Native.acemq_envelope_origin(envelope))

    # @return [String, nil] why it failed last
    def error = Native.text(Native.acemq_envelope_error(envelope))

    # @return [Time, nil] when it was published first
    def first_seen = Message.time(Native.acemq_envelope_first_seen(envelope))

    # @return [Integer] how often it was replayed
    def replay_count = Native.acemq_envelope_replay_count(envelope)

    # @return [String, nil] the failure queue it was replayed from last
    def replayed_from = Native.text(Native.acemq_envelope_replayed_from(envelope))

    # @return [Boolean] whether the message has no id of its own, so that this one is new with each delivery
    def id_made_up? = Native.acemq_envelope_id_is_made_up(envelope) == 1

    # @!endgroup

    # @return [Hash{String => Object}] the application's headers
    def headers = Headers.read(Native.acemq_delivery_headers(pointer))

    # @return [Hash{String => Object}] every header as it arrived
    def all_headers = Headers.read(Native.acemq_delivery_all_headers(pointer))

    # @return [String]
    def queue = Native.text(Native.acemq_delivery_queue(pointer))

    # @return [String]
    def exchange = Native.text(Native.acemq_delivery_exchange(pointer))

    # @return [String]
    def routing_key = Native.text(Native.acemq_delivery_routing_key(pointer))

    # @return [Boolean]
    def redelivered? = Native.acemq_delivery_redelivered(pointer) == 1

    PROPERTIES = { content_type: 1, content_encoding: 2, delivery_mode: 3, priority: 4, correlation_id: 5, reply_to: 6,
                   expiration: 7, message_id: 8, timestamp: 9, type: 10, user_id: 11, app_id: 12 }.freeze
    NUMBERS = %i[delivery_mode priority timestamp].freeze

    # @return [Hash{Symbol => String, Integer}] the AMQP properties that it has
    def properties
      PROPERTIES.to_h { |name, number| [name, property(name, number)] }.compact
    end

    # @return [String, nil]
    def content_type = property(:content_type, 1)

    # @return [String, nil]
    def reply_to = Native.text(Native.acemq_envelope_reply_to(envelope)) || property(:reply_to, 6)

    # @!group Settling

    # Settles it now, before its handler returns or for a message that was pulled.
    def accept = settle(ACCEPTED, nil)

    # It is tried again as the policy says, and at last goes to the dead letters.
    def fail(reason = nil) = settle(FAILED, reason)

    # It goes to the dead letters at once.
    def reject(reason = nil) = settle(REJECTED, reason)

    # It is parked at once.
    def park(reason = nil) = settle(PARKED, reason)

    # It goes back to its queue unchanged, without spending an attempt.
    def put_back
      Native.check { |error| Native.acemq_delivery_put_back(pointer, error) }
      @settled = true
      nil
    end

    # @return [Boolean]
    def settled? = @settled

    # @!endgroup

    def inspect
      @pointer ? "#<AceMQ::Message #{id} #{queue}>" : "#<AceMQ::Message let go of>"
    end

    # @api private
    def settle(outcome, reason)
      settle_quietly(outcome, reason&.to_s&.scrub&.tr("\0", " ")) { |status, error| raise Error.take(status, error) }
      nil
    end

    # @api private
    def settle_quietly(outcome, reason)
      if outcome == ACCEPTED
        status = Native.acemq_delivery_settle(pointer, outcome, nil, nil)
        @settled = true
        return if status.zero?
      end
      FFI::MemoryPointer.new(:pointer) do |slot|
        status = Native.slow_delivery_settle(pointer, outcome, reason, slot)
        @settled = true
        yield status, slot.read_pointer unless status.zero?
      end
    end

    # @api private
    def let_go
      @pointer = nil
    end

    # @api private
    def decode_first
      payload if @codec.is_a?(Codec::Own)
    end

    # @api private
    def self.time(milliseconds)
      milliseconds.zero? ? nil : Time.at(milliseconds / 1000, milliseconds % 1000, :millisecond).utc
    end

    private

    def envelope = Native.acemq_delivery_envelope(pointer)

    def property(name, number)
      return Native.text(Native.acemq_delivery_property(pointer, number)) unless NUMBERS.include?(name)

      out = FFI::MemoryPointer.new(:int64)
      out.read_int64 if Native.acemq_delivery_property_number(pointer, number, out) == 1
    end

    def decode
      @codec.is_a?(Codec::Own) ? @codec.load(body, content_type) : @codec.load(body)
    rescue StandardError => e
      raise DecodeError.new("the body does not decode: #{e.class}: #{e.message.scrub.lines.first&.chomp}", field: "body")
    end
  end
end
