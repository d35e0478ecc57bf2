# frozen_string_literal: true

module AceMQ
  # A publish under way. One thread at a time.
  class Receipt
    # @api private
    UNDER_WAY = 30

    # Frees what the library has written, once nothing in Ruby can reach its receipt any more.
    Release = Struct.new(:slot) do
      def call(_id = nil)
        Native.acemq_receipt_free(slot.read_ulong)
      end
    end
    private_constant :Release

    # @api private
    # @return [FFI::Pointer] where the library writes its receipt
    attr_reader :slot

    # @api private
    def initialize
      @slot = FFI::MemoryPointer.new(:pointer)
      ObjectSpace.define_finalizer(self, Release.new(@slot))
      @error = nil
      @ended = false
    end

    # Waits until it is confirmed and in a queue.
    # @param timeout [Numeric, String, nil] nil: until it ended, which it does within the publish's own timeout
    # @return [true]
    # @raise [PublishError] what else became of it
    # @raise [TimeoutError] it is still under way
    def wait(timeout: nil)
      unless ended?
        status = Receipt.await(address, Durations.milliseconds(timeout))
        raise TimeoutError, "the publish is still under way" if status.nil?

        note(status)
      end
      raise @error if @error

      true
    end

    # @return [Boolean] whether it ended
    def ended?
      return true if @ended

      status = Native.receipt_look(address, 0, nil)
      note(status) unless status == UNDER_WAY
      @ended
    end

    # @api private
    # @return [Integer, nil] the status of a publish that ended; nil: it is still under way after so many milliseconds
    def self.await(address, milliseconds)
      Waiting.sliced(milliseconds) do |slice|
        status = Native.acemq_receipt_wait(address, slice, nil)
        status unless status == UNDER_WAY
      end
    end

    # @api private
    # @return [Error] why it failed
    def self.failure(address)
      slot = FFI::MemoryPointer.new(:pointer)
      Native.failure(Native.receipt_look(address, 0, slot), slot)
    end

    private

    def address = @slot.read_ulong

    def note(status)
      @error = Receipt.failure(address) unless status.zero?
      @ended = true
    end
  end

  # Where to, and with what promises. Any thread.
  class Publisher
    # Seconds between two looks for room.
    LOOK = 0.002
    private_constant :LOOK

    # @api private
    attr_reader :codec

    # @api private
    def initialize(connection, exchange: nil, routing_key: nil, timeout: nil, codec: nil, confirmed: true, mandatory: true)
      @connection = connection
      @codec = codec.nil? ? connection.codec : Codec.of(codec)
      @timeout = timeout.nil? ? connection.publish_timeout : Durations.milliseconds(timeout)
      options = Options.new(Native::PublisherOptions, :acemq_publisher_options_init)
      options.text(:exchange, exchange)
      options.text(:routing_key, routing_key)
      options.duration(:timeout, timeout)
      options.flag(:unconfirmed, !confirmed)
      options.flag(:optional, !mandatory)
      pointer = Native.made { |out, error| Native.acemq_publisher_new(connection.pointer, options, out, error) }
      @handle = Handle.new(pointer, :acemq_publisher_free)
    end

    # Publishes one message, and waits until the broker has confirmed it and a queue has it.
    # @param payload [Object] what the codec writes
    # @param to [String, nil] the routing key; nil: the publisher's
    # @param timeout [Numeric, String, nil] nil: the publisher's
    # @param codec [Symbol, Object, nil] nil: the publisher's
    # @option options [String] :id default: a new UUID
    # @option options [String] :type default: the routing key
    # @option options [Integer] :version from 1
    # @option options [String] :correlation default: the id
    # @option options [String] :causation
    # @option options [String] :origin
    # @option options [Message] :caused_by the message being handled: correlation, causation and trace context
    # @option options [Hash] :headers
    # @option options [String] :content_type
    # @option options [String] :reply_to
    # @option options [Integer] :priority 0 to 255
    # @option options [Numeric, String] :expiration gone from its queue after so long
    # @option options [Boolean] :transient
    # @return [true]
    # @raise [Unroutable, Nacked, Refused, UnknownOutcome] what became of it instead
    def publish(payload, to: nil, timeout: nil, codec: nil, **options)
      receipt = begin_publish(payload, to: to, timeout: timeout, codec: codec, **options)
      receipt.wait
    end
    alias send publish

    # Publishes without waiting for the confirm. It waits for room where as many are under way as the connection's
    # +outstanding+ allows.
    # @return [Receipt]
    def begin_publish(payload, to: nil, type: nil, timeout: nil, codec: nil, **options)
      codec = codec.nil? ? @codec : Codec.of(codec)
      body = Outgoing.encode(codec, payload)
      receipt = Receipt.new # before anything begins, or an interrupt could leave that to nobody
      begin_at(receipt.slot, FFI::MemoryPointer.new(:pointer), codec, body, to, type, timeout, options)
      receipt
    end

    # Publishes with up to +size+ under way at once, and waits at the end until all are confirmed.
    # @yieldparam window [Window]
    # @return [Integer] how many were published
    # @raise [BatchError] some failed: the rest is confirmed
    def window(size = 256)
      window = Window.new(self, size)
      yield window
      window.finish
    end

    # Publishes all of them, and waits until all are confirmed. Not atomic.
    # @param payloads [Enumerable]
    # @return [Integer] how many
    # @raise [BatchError] some failed: the rest is confirmed
    def batch(payloads, size: 256, **options)
      window(size) { |window| payloads.each { |payload| window.send(payload, **options) } }
    end

    # @api private
    # @param receipt [FFI::Pointer] where the library writes its receipt
    # @param error [FFI::Pointer] and where the error
    def begin_at(receipt, error, codec, body, key, type, timeout, options)
      wait = timeout.nil? ? @timeout : Durations.milliseconds(timeout)
      publisher = @handle.pointer
      wait = await_room(body.bytesize, wait) if Native.acemq_publisher_has_room(publisher, body.bytesize).zero?
      Outgoing.with(codec, body, options, type: type) do |message|
        status = Native.acemq_publisher_begin(publisher, key, message, wait, receipt, error)
        raise Native.failure(status, error) unless status.zero?
      end
    rescue ArgumentError => e
      raise Native.nul(e)
    end

    private

    # A call that waits for room could not be interrupted. At the end it is asked all the same: its error says why.
    # @return [Integer] the milliseconds that are left for the confirm
    def await_room(bytes, wait)
      finish = Durations.now + (wait / 1000.0)
      sleep LOOK while Native.acemq_publisher_has_room(@handle.pointer, bytes).zero? && Durations.now < finish
      [((finish - Durations.now) * 1000).ceil, 1].max
    end
  end
end
