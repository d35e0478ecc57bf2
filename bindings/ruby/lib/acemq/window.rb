# frozen_string_literal: true

module AceMQ
  # Publishes of which some are under way at once. Any thread; not inside Signal.trap, where nothing can be locked.
  class Window
    # @api private
    def initialize(publisher, size)
      raise LimitError.new("window #{size} is below 1", field: "window", limit: 1) unless size.is_a?(Integer) && size >= 1

      @publisher = publisher
      @lock = Thread::Mutex.new
      @error = FFI::MemoryPointer.new(:pointer)
      @receipts = Receipts.new(size)
      ObjectSpace.define_finalizer(self, @receipts)
    end

    # Publishes one; waits for the oldest ones when the window is full. Arguments as of {Publisher#publish}.
    # @return [Integer] its place, from 0
    def publish(payload, to: nil, type: nil, timeout: nil, codec: nil, **options)
      codec = codec.nil? ? @publisher.codec : Codec.of(codec)
      body = Outgoing.encode(codec, payload)
      @lock.synchronize do
        @receipts.keep # of a publish that was interrupted as it began
        @receipts.make_room
        @publisher.begin_at(@receipts.slot, @error, codec, body, to, type, timeout, options)
        @receipts.keep
        @receipts.count - 1
      end
    end
    alias send publish

    # @api private
    def finish
      @lock.synchronize do
        @receipts.keep
        @receipts.settle_all
        raise BatchError.new(@receipts.failures, @receipts.count) unless @receipts.failures.empty?

        @receipts.count
      end
    end
  end
end
