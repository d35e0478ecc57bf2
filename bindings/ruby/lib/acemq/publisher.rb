# frozen_string_literal: true

module AceMQ
  # A publish under way. One thread at a time.
  class Receipt
    TIMEOUT = 30
    private_constant :TIMEOUT

    # @api private
    def initialize(handle)
      @handle = handle
      @error = nil
      @ended = false
    end

    # Waits until it is confirmed and in a queue.
    # @param timeout [Numeric, String, nil] nil: until it ended, which it does within the publish's own timeout
    # @return [true]
    # @raise [PublishError] what else became of it
    # @raise [TimeoutError] it is still under way
    def wait(timeout: nil)
      failure = outcome(timeout)
      raise failure if failure

      true
    end

    # @return [Boolean] whether it ended
    def ended?
      look unless @ended
      @ended
    end

    # @api private
    # @return [Error, nil]
    def outcome(timeout = nil)
      return @error if ended?

      Waiting.sliced(Durations.milliseconds(timeout)) { |slice| ended_within?(slice) }
      raise TimeoutError, "the publish is still under way" unless @ended

      @error
    end

    private

    def look = note(Native.receipt_look(@handle.pointer, 0, nil))

    def ended_within?(slice) = note(Native.acemq_receipt_wait(@handle.pointer, slice, nil))

    # @return [true, nil] nil: still under way
    def note(status)
      return if status == TIMEOUT

      @error = reason unless status.zero?
      @ended = true
    end

    def reason
      FFI::MemoryPointer.new(:pointer) do |slot|
        status = Native.receipt_look(@handle.pointer, 0, slot)
        return Error.take(status, slot.read_pointer)
      end
    end
  end

  # Where to, and with what promises. Any thread.
  class Publisher
    # Seconds between two looks for room.
    LOOK = 0.002
    private_constant :LOOK

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
    def begin_publish(payload, to: nil, timeout: nil, codec: nil, **options)
      codec = codec.nil? ? @codec : Codec.of(codec)
      wait = timeout.nil? ? @timeout : Durations.milliseconds(timeout)
      body = Outgoing.encode(codec, payload)
      wait = await_room(body.bytesize, wait) if Native.acemq_publisher_has_room(@handle.pointer, body.bytesize).zero?
      Outgoing.with(codec, body, options) { |message| Receipt.new(start(message, to, wait)) }
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

    private

    # A call that waits for room could not be interrupted. At the end it is asked all the same: its error says why.
    # @return [Integer] the milliseconds that are left for the confirm
    def await_room(bytes, wait)
      finish = Durations.now + (wait / 1000.0)
      sleep LOOK while Native.acemq_publisher_has_room(@handle.pointer, bytes).zero? && Durations.now < finish
      [((finish - Durations.now) * 1000).ceil, 1].max
    end

    def start(message, key, wait)
      pointer = Native.made { |out, error| Native.acemq_publisher_begin(@handle.pointer, key, message, wait, out, error) }
      Handle.new(pointer, :acemq_receipt_free)
    end
  end

  # Publishes of which some are under way at once. One thread at a time.
  class Window
    # @api private
    def initialize(publisher, size)
      raise LimitError.new("window #{size} is below 1", field: "window", limit: 1) unless size.is_a?(Integer) && size >= 1

      @publisher = publisher
      @size = size
      @under_way = []
      @failures = {}
      @count = 0
      @ended = 0
    end

    # Publishes one; waits for the oldest when the window is full. Arguments as of {Publisher#publish}.
    # @return [Integer] its place, from 0
    def publish(payload, **options)
      settle_oldest while @under_way.size >= @size
      @under_way.push(@publisher.begin_publish(payload, **options))
      @count += 1
      @count - 1
    end
    alias send publish

    # @api private
    def finish
      settle_oldest until @under_way.empty?
      raise BatchError.new(@failures, @count) unless @failures.empty?

      @count
    end

    private

    def settle_oldest
      failure = @under_way.first.outcome
      @under_way.shift
      @failures[@ended] = failure if failure
      @ended += 1
    end
  end
end
