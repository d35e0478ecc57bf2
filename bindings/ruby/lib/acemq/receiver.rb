# frozen_string_literal: true

require "io/wait"

module AceMQ
  # What consumers, groups and ordered consumers share: taking messages, handing them to a handler, and settling what
  # became of it.
  # @api private
  class Receiver
    include Enumerable

    TIMEOUT = 30
    CANCELLED = 31
    CLOSED = 6
    NEVER = { Object => :never }.freeze
    NOW = { Object => :immediate }.freeze
    WAITING = { Object => :on_blocking }.freeze
    private_constant :TIMEOUT, :CANCELLED, :CLOSED, :NEVER, :NOW, :WAITING

    # @return [String] the queue, or the name of an ordered consumer
    attr_reader :queue

    def initialize(connection, queue, handle, descriptor, settings)
      @connection = connection
      @queue = queue
      @handle = handle
      @codec = settings.codec
      @kept = settings.kept
      @cancel = settings.cancel
      @slow = settings.slow?
      @signal = IO.for_fd(descriptor, autoclose: false)
      @process = Process.pid
      @lock = Thread::Mutex.new
      @threads = []
      @handler = nil
      @closed = false
    end

    # The next message, which the caller settles: {Message#accept}, {Message#fail} and so on. One that is let go of
    # unsettled goes back to its queue.
    # @param timeout [Numeric, String, nil] nil: as long as it takes
    # @return [Message, nil] nil: none came in time, or it was closed
    def pull(timeout: nil)
      wait = Durations.milliseconds(timeout)
      slot = FFI::MemoryPointer.new(:pointer)
      await(slot, wait) ? pulled(slot) : nil
    ensure
      put_back(slot) if slot
    end

    # Handles messages on this thread, as {Connection#consume} does on one of its own, until the block breaks out, none
    # came for +timeout+, or it is closed. What the block raises fails the message, and is raised here; a message that
    # the block leaves by break, throw or exit goes back to its queue, unless it was settled before.
    # @return [self]
    def each(timeout: nil)
      return enum_for(:each, timeout: timeout) unless block_given?

      wait = Durations.milliseconds(timeout)
      slot = FFI::MemoryPointer.new(:pointer)
      handle_inline(slot) { |message| yield message } while await(slot, wait)
      self
    ensure
      put_back(slot) if slot
    end

    # What was counted since it was opened.
    # @return [Hash{Symbol => Integer}]
    def counters
      counters = Native::ConsumerCounters.new
      counters[:size] = Native::ConsumerCounters.size
      Native.check { |error| count_into(counters, error) }
      Native::ConsumerCounters::NAMES.to_h { |name| [name, counters[name]] }
    end

    # @return [Boolean]
    def closed? = @closed

    # Ends it without waiting for handlers. What they hold is settled when they return, if the connection is still open.
    def close
      return if @closed

      @closed = true
      @connection.forget(self)
      return unless @process == Process.pid

      close_native
      @kept.each { |resource| resource.close if resource.respond_to?(:close) }
      nil
    end

    # Takes no more work, and waits until all in hand is settled.
    # @param timeout [Numeric, String, nil] nil: as long as it takes
    # @return [Boolean] whether nothing was left
    def drain(timeout: 20)
      raise FromHandler, "draining would wait for the handler it is called from" if worker?

      finished = Waiting.sliced(Durations.milliseconds(timeout)) { |slice| drained_within?(slice) }
      finished == true
    end

    # @return [Boolean] whether it is called from one of its handlers
    def worker? = @lock.synchronize { @threads.include?(Thread.current) }

    # @return [Boolean] whether a handler takes the messages
    def handler? = !@handler.nil?

    # @api private
    # Runs the handler on as many threads.
    def start(count, handler)
      @handler = handler
      count.times { hire }
      self
    end

    # @api private
    def join(seconds)
      finish = Durations.now + seconds
      @lock.synchronize { @threads.dup }.each { |thread| thread.join([finish - Durations.now, 0].max) }
    end

    # @api private
    # Why it ended by itself; nil when it did not.
    attr_reader :failure

    private

    def hire
      thread = Thread.new do
        Thread.current.report_on_exception = false
        serve
        finished = true
      rescue StandardError => e
        finished = true
        ended(e)
      ensure
        dismiss(finished)
      end
      thread.name = "acemq-#{@queue}"[0, 15]
      @lock.synchronize { @threads.push(thread) if thread.alive? }
    end

    # A handler that ends its thread, by Thread.exit or Thread#kill, does not end the consumer.
    def dismiss(finished)
      @lock.synchronize { @threads.delete(Thread.current) }
      hire unless finished || @closed || AceMQ.exiting? || $!.is_a?(SystemExit)
    end

    def ended(error)
      return if @closed

      @failure = error
      @connection.ended(self)
    end

    def serve
      Thread.handle_interrupt(NEVER) do
        slot = FFI::MemoryPointer.new(:pointer)
        handle(slot) while !superfluous? && await_masked(slot)
      end
    end

    # Threads that a group has no use for any more.
    def superfluous? = false

    def await_masked(slot)
      until @closed
        status = take_one(slot)
        return true if status.zero?

        case status
        when TIMEOUT then Thread.handle_interrupt(NOW) { @signal.wait_readable }
        when CANCELLED then return false if superfluous?
        when CLOSED then return false
        else fail_with(status)
        end
      end
    end

    def take_one(slot) = @slow ? take_slowly(slot, 0, nil) : take_quickly(slot, nil)

    # Why it ended is in the error of the next call.
    def fail_with(status)
      FFI::MemoryPointer.new(:pointer) do |error|
        out = FFI::MemoryPointer.new(:pointer)
        again = take_slowly(out, 0, error)
        Native.acemq_delivery_free(out.read_pointer) if again.zero?
        raise Error.take(again.zero? ? status : again, error.read_pointer)
      end
    end

    # Interrupts come while it waits, or when what was taken is in the slot, whose owner puts it back.
    def await(slot, milliseconds)
      Thread.handle_interrupt(WAITING) { await_until(slot, milliseconds) }
    end

    def await_until(slot, milliseconds)
      finish = milliseconds == Durations::FOREVER ? nil : Durations.now + (milliseconds / 1000.0)
      until @closed
        status = @slow ? take_interruptibly(slot) : take_quickly(slot, nil)
        return true if status.zero?
        return false if status == CLOSED

        fail_with(status) unless [TIMEOUT, CANCELLED].include?(status)
        left = finish && (finish - Durations.now)
        return false if left && left <= 0

        @signal.wait_readable(left)
      end
    end

    # A store may take its time; whoever is interrupted meanwhile puts back what came.
    def take_interruptibly(slot)
      release = ->((_, out)) { Native.acemq_delivery_free(out.read_pointer) }
      status, out = Waiting.call(discard: release) do
        out = FFI::MemoryPointer.new(:pointer)
        [take_slowly(out, 0, nil), out]
      end
      slot.write_pointer(out.read_pointer)
      status
    end

    def pulled(slot)
      Thread.handle_interrupt(NEVER) do
        message = Pulled.new(slot.read_pointer, @codec)
        slot.write_pointer(FFI::Pointer::NULL)
        message
      end
    end

    # What an interrupt has left there.
    def put_back(slot)
      Thread.handle_interrupt(NEVER) do
        Native.acemq_delivery_free(slot.read_pointer)
        slot.write_pointer(FFI::Pointer::NULL)
      end
    end

    # The slot owns the delivery until the end, whatever the handler does.
    def handle(slot)
      message = Message.new(slot.read_pointer, @codec)
      Thread.handle_interrupt(NOW) do
        message.decode_first
        @handler.call(message)
      end
      settle(message, Message::ACCEPTED, nil)
    rescue SystemExit, SignalException
      raise # let_go puts it back
    rescue Exception => e # rubocop:disable Lint/RescueException
      settle(message, *verdict(e))
    ensure
      let_go(message, slot)
    end

    def handle_inline(slot)
      message = Message.new(slot.read_pointer, @codec)
      message.decode_first
      yield message
      settle(message, Message::ACCEPTED, nil)
    rescue Reject, Park, DecodeError => e
      settle(message, *verdict(e))
    rescue SystemExit, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException
      settle(message, *verdict(e))
      raise
    ensure
      let_go(message, slot)
    end

    def let_go(message, slot)
      Thread.handle_interrupt(NEVER) do
        message&.let_go
        put_back(slot)
      end
    end

    def verdict(failure)
      case failure
      when Reject then [Message::REJECTED, text_of(failure)]
      when Park, DecodeError then [Message::PARKED, text_of(failure)]
      else [Message::FAILED, "#{failure.class}: #{text_of(failure)}"]
      end
    end

    # A class of the application's may fail at that, too.
    def text_of(failure)
      failure.message.to_s
    rescue StandardError
      ""
    end

    # What cannot be settled is delivered again.
    def settle(message, outcome, reason)
      return if message.settled?

      reason = reason&.dup&.force_encoding(Encoding::UTF_8)&.scrub&.tr("\0", " ")
      message.settle_quietly(outcome, reason) do |status, error|
        @connection.report(Error.take(status, error), @queue)
      end
    end
  end

  # A message that was pulled: whoever pulled it settles it. Let go of, it goes back to its queue.
  class Pulled < Message
    # @api private
    def initialize(pointer, codec)
      super
      @handle = Handle.new(pointer, :acemq_delivery_free)
    end
  end
end
