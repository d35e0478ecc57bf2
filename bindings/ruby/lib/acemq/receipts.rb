# frozen_string_literal: true

module AceMQ
  # The receipts of a window's publishes, the oldest first, as the numbers that the library's pointers are: a publish makes
  # no object for its own.
  #
  # An interrupt may come whenever a method returns, those in C included, and never between an assignment and the call
  # that follows it. So what must happen once stands right behind the assignment that says that it has happened.
  # @api private
  class Receipts
    # @return [FFI::Pointer] where the library writes the next one
    attr_reader :slot
    # @return [Integer] how many there have been
    attr_reader :count
    # @return [Hash{Integer => Error}] what became of those that failed
    attr_reader :failures

    def initialize(size)
      @size = size
      @slot = FFI::MemoryPointer.new(:pointer)
      @ring = []
      @count = 0
      @ended = 0
      @failures = {}
    end

    # Takes over what the library has written; nothing where a publish did not begin.
    def keep
      receipt = @slot.read_ulong
      return if receipt.zero?

      @ring[@count % @size] = receipt
      @count += 1
      @slot.write_ulong(0)
    end

    # Waits for some of the oldest when as many as may be are under way. To be woken for each confirm would cost more than
    # to publish.
    def make_room
      settle([@size / 4, 1].max) while @count - @ended >= @size
    end

    def settle_all = settle(@count - @ended)

    # Frees what is left: what Ruby calls once its window is gone.
    def call(_id = nil)
      keep
      (@ended...@count).each { |place| Native.acemq_receipt_free(@ring[place % @size]) }
    end

    private

    # The last of them is waited for first: when it has ended, mostly all have.
    def settle(count)
      outcome(@ring[(@ended + count - 1) % @size]) if count.positive?
      count.times do
        receipt = @ring[@ended % @size]
        status = outcome(receipt)
        @failures[@ended] = Receipt.failure(receipt) unless status.zero?
        @ended += 1
        Native.acemq_receipt_free(receipt)
      end
    end

    def outcome(receipt)
      status = Native.receipt_look(receipt, 0, nil)
      status == Receipt::UNDER_WAY ? Receipt.await(receipt, Durations::FOREVER) : status
    end
  end
end
