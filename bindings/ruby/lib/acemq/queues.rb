# frozen_string_literal: true

module AceMQ
  module Native
    waits :acemq_queue_count, %i[pointer string int64 pointer pointer pointer], :int
    waits :acemq_queue_purge, %i[pointer string int64 pointer pointer], :int
    waits :acemq_queue_delete, %i[pointer string int64 pointer pointer], :int

    # acemq_browser_options
    class BrowserOptions < FFI::Struct
      layout :size, :size_t, :cancel, :pointer, :max, :int64, :timeout, :int64, :force, :int32, :reserved, :int32
    end

    quick :acemq_browser_options_init, %i[pointer size_t], :int
    waits :acemq_browser_open, %i[pointer string pointer pointer pointer], :int
    waits :acemq_browser_next, %i[pointer pointer pointer], :int
    waits :acemq_browser_remove, %i[pointer pointer], :int
    waits :acemq_browser_free, [:pointer], :void
  end

  # How a queue stands.
  # @!attribute ready [Integer] messages that wait here
  # @!attribute consumers [Integer]
  QueueCount = Struct.new(:ready, :consumers)

  # Looking at queues.
  class Connection
    # @return [QueueCount]
    # @raise [NotFound]
    def count(queue, timeout: 30)
      wait = Durations.milliseconds(timeout)
      Waiting.call do
        out = FFI::MemoryPointer.new(:uint64, 2)
        Native.check { |error| Native.acemq_queue_count(pointer, queue, wait, out, out + 8, error) }
        QueueCount.new(*out.read_array_of_uint64(2))
      end
    end

    # Throws the ready messages of a queue away.
    # @return [Integer] how many there were
    def purge(queue, timeout: 30) = emptied(:acemq_queue_purge, queue, timeout)

    # Deletes a queue with all that lies in it. One that does not exist is as good as deleted.
    # @return [Integer] how many messages lay in it
    def delete(queue, timeout: 30) = emptied(:acemq_queue_delete, queue, timeout)

    # Looks through a queue from its head. What the block read is put back afterwards, marked as redelivered, but for
    # what it asked the browser to {Browser#remove}.
    # @param max [Integer] messages held at most
    # @param force [Boolean] a quorum queue too, though each look counts as a delivery
    # @yieldparam message [Message] which cannot be settled
    # @yieldparam browser [Browser]
    # @return [Integer] how many it looked at
    def browse(queue, max: 10_000, timeout: 30, force: false, codec: nil, &block)
      return enum_for(:browse, queue, max: max, timeout: timeout, force: force, codec: codec) unless block

      browser = Browser.new(self, queue, max: max, timeout: timeout, force: force, codec: codec)
      begin
        browser.each { |message| block.arity == 2 ? yield(message, browser) : yield(message) }
      ensure
        browser.close
      end
    end

    private

    def emptied(function, queue, timeout)
      wait = Durations.milliseconds(timeout)
      Waiting.call do
        out = FFI::MemoryPointer.new(:uint64)
        Native.check { |error| Native.public_send(function, pointer, queue, wait, out, error) }
        out.read_uint64
      end
    end
  end

  # Looks through a queue. One thread at a time.
  class Browser
    # @api private
    def initialize(connection, queue, max:, timeout:, force:, codec:)
      @codec = codec.nil? ? connection.codec : Codec.of(codec)
      @cancel = Cancel.new
      options = Options.new(Native::BrowserOptions, :acemq_browser_options_init)
      options.handle(:cancel, @cancel)
      options.number(:max, max)
      options.duration(:timeout, timeout)
      options.flag(:force, force)
      @pointer = interruptible(discard: ->(pointer) { Native.acemq_browser_free(pointer) }) do
        Native.made { |out, error| Native.acemq_browser_open(connection.pointer, queue, options, out, error) }
      end
    end

    # @yieldparam message [Message]
    # @return [Integer] how many there were
    def each
      count = 0
      while (pointer = following)
        message = Message.new(pointer, @codec)
        begin
          yield message
        ensure
          message.let_go
        end
        count += 1
      end
      count
    end

    # Takes the message that was read last off the queue for good.
    def remove
      interruptible { Native.check { |error| Native.acemq_browser_remove(@pointer, error) } }
      nil
    end

    # Puts back what was not removed.
    def close
      pointer = @pointer
      @pointer = nil
      Native.acemq_browser_free(pointer) if pointer
    end

    private

    def following
      pointer = interruptible { Native.made { |out, error| Native.acemq_browser_next(@pointer, out, error) } }
      pointer unless pointer.null?
    end

    def interruptible(discard: nil, &block) = Waiting.call(cancel: -> { @cancel.fire }, discard: discard, &block)
  end
end
