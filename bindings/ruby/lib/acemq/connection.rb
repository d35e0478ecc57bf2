# frozen_string_literal: true

module AceMQ
  # A client: two connections to one broker, one that publishes and one that consumes, kept alive. Any thread.
  class Connection
    STATES = { 1 => :open, 2 => :blocked, 3 => :reconnecting, 4 => :failed, 5 => :closed }.freeze
    CLOSING = 20
    HURRIED = 1
    private_constant :CLOSING, :HURRIED

    # @api private
    attr_reader :codec, :publish_timeout

    # @api private
    def initialize(url, **options)
      @codec = Codec.of(options.delete(:codec) || :json)
      @process = Process.pid
      @lock = Thread::Mutex.new
      @receivers = []
      @publishers = {}
      @wakers = []
      @stopped = false
      settings = ConnectSettings.new(**options)
      @publish_timeout = settings.options.struct[:publish_timeout]
      @handle = Waiting.call(cancel: -> { settings.cancel.fire }) do
        Handle.new(Native.made { |out, error| Native.acemq_connect(url, settings.options, out, error) }, :acemq_connection_free)
      end
      @closed = false
      @events = Events.start(@handle, settings)
    end

    # @api private
    def pointer = @handle.pointer

    # @!group Publishing

    # Publishes one message to a queue, and waits until it is confirmed and in there.
    # @param queue [String]
    # @param payload [Object] what the codec writes: JSON where nothing else was asked for
    # @return [true]
    # @see Publisher#publish the options
    def publish(queue, payload, **options)
      raise InvalidArgument.new("queue is empty", field: "queue") if queue.to_s.empty?

      default_publisher.publish(payload, to: queue, **options)
    end

    # Publishes one message to an exchange.
    # @return [true]
    def publish_to(exchange, routing_key, payload, **options)
      publisher(exchange: exchange).publish(payload, to: routing_key, **options)
    end

    # @param exchange [String, nil] nil: the default one, which leads to the queue of the routing key's name
    # @param routing_key [String, nil] where a call gives none
    # @param timeout [Numeric, String, nil] of a publish; nil: the connection's
    # @param codec [Symbol, Object, nil] nil: the connection's
    # @param confirmed [Boolean] false: a publish is done when it was written
    # @param mandatory [Boolean] false: what no queue takes is dropped by the broker
    # @return [Publisher]
    def publisher(**options) = Publisher.new(self, **options)

    # Publishes are refused after their timeout, until {#resume_publishing}.
    def pause_publishing = Native.check { |error| Native.acemq_connection_pause_publishing(pointer, error) }

    # Publishing goes on.
    def resume_publishing = Native.check { |error| Native.acemq_connection_resume_publishing(pointer, error) }

    # @return [Boolean]
    def publishing_paused? = Native.acemq_connection_publishing_paused(pointer) == 1

    # @!endgroup
    # @!group Consuming

    # Handles the messages of a queue, one at a time, on a thread of the binding's. What the block returns does not
    # matter: a message is accepted when it returns, tried again as +retry+ says when it raises, sent to the dead letters
    # when it raises {Reject}, parked when it raises {Park}. It goes on until it is closed, also when nothing refers to
    # the consumer any more. {#run} waits for Ctrl-C.
    # @param retry [Policy, String, nil] nil: one attempt
    # @param codec [Symbol, Object, nil] nil: the connection's
    # @param idempotency [Idempotency, String, nil] a store of claims, or its address
    # @option options [Integer] :prefetch 1 to 65535; default 50
    # @option options [Integer] :prefetch_bytes bodies held here before the broker is held off; default 64 MiB
    # @option options [Symbol] :declare :yes, or :verify to check only
    # @option options [Boolean] :requeue_on_failure without a policy: a failed message goes back to its queue
    # @option options [Boolean] :exclusive nobody else may consume it
    # @option options [Hash] :arguments of the subscription
    # @option options [String] :tag
    # @option options [Numeric, String] :timeout for opening; default 30 s
    # @option options [Numeric, String] :acknowledgement_limit default 30 minutes
    # @option options [Numeric, String] :lease of a claim; default 5 minutes
    # @option options [Boolean] :renew a claim is renewed until the message is settled
    # @option options [Numeric, String] :put_back_wait default 5 s
    # @yieldparam message [Message]
    # @return [Consumer] without a block: to take messages from, with {Consumer#pull} or {Consumer#each}
    def consume(queue, **options, &handler)
      register(Consumer.open(self, queue, **options), 1, handler)
    end

    # Waits for Ctrl-C, or for SIGTERM, and then drains everything that consumes here: handlers finish the message they
    # are at. A second Ctrl-C interrupts.
    # @param drain [Numeric, String] how long that may take
    # @return [Boolean] whether all was finished in time
    # @raise [Error] what ended a consumer by itself
    def run(drain: CLOSING, signals: %w[INT TERM])
      failure = Signals.wait(signals) { |waker| await_end(waker) }
      raise failure if failure

      drain(timeout: drain)
    end

    # Ends {#run}, or else the next one, from any thread.
    def stop
      @lock.synchronize do
        @stopped = @wakers.empty?
        @wakers.each { |waker| waker.push(nil) }
      end
    end

    # Takes no more work, and waits until all that handlers have in hand is settled; then closes what consumes. What was
    # pulled is not waited for.
    # @return [Boolean] whether nothing was left
    def drain(timeout: CLOSING)
      receivers = @lock.synchronize { @receivers.dup }
      raise FromHandler, "draining would wait for the handler it is called from" if receivers.any?(&:worker?)

      finish = Durations.now + Durations.seconds(Durations.milliseconds(timeout))
      handled, pulled = receivers.partition(&:handler?)
      handled.each { |receiver| receiver.drain(timeout: 0) }
      finished = handled.map { |receiver| receiver.drain(timeout: [finish - Durations.now, 0].max) }
      pulled.each(&:close)
      handled.each(&:close)
      finished.all?
    end

    # @!endgroup

    # @return [Symbol] :open, :blocked, :reconnecting, :failed or :closed
    def state = STATES.fetch(Native.acemq_connection_get_state(pointer, nil), :closed)

    # @return [Boolean]
    def open? = !@closed && state != :closed

    # Drains what consumes, waits for publishes under way, and closes. Again is fine. In a child of fork it lets go of
    # the child's copy, and does nothing else.
    # @param timeout [Numeric, String] for all of it
    # @return [Array<Work>] what was left in hand: it is delivered again
    def close(timeout: CLOSING)
      return [] if @closed
      return abandon unless @process == Process.pid
      raise FromHandler, "closing would wait for the handler it is called from" if handler?

      finish = Durations.now + Durations.seconds(Durations.milliseconds(timeout))
      begin
        drain(timeout: timeout)
        close_native([finish - Durations.now, 0].max)
      ensure
        @closed = true
      end
    end

    # @api private
    # After an exception nobody waits long.
    def close_hurriedly
      close(timeout: HURRIED)
    rescue Error
      [] # what was raised before says more
    end

    # @api private
    def forget(receiver) = @lock.synchronize { @receivers.delete(receiver) }

    # @api private
    def ended(receiver)
      report(receiver.failure, receiver.queue)
      @lock.synchronize { @wakers.each { |waker| waker.push(receiver.failure) } }
    end

    # @api private
    def report(error, queue) = @events&.failed(error, queue)

    def inspect = "#<AceMQ::Connection #{@closed ? :closed : state}>"

    private

    def default_publisher = @lock.synchronize { @publishers[:default] ||= Publisher.new(self) }

    def register(receiver, count, handler)
      @lock.synchronize { @receivers.push(receiver) }
      handler ? receiver.start(count, handler) : receiver
    end

    def handler? = @lock.synchronize { @receivers.dup }.any?(&:worker?)

    def await_end(waker)
      stopped = @lock.synchronize do
        @wakers.push(waker)
        @stopped.tap { @stopped = false }
      end
      waker.pop unless stopped
    ensure
      @lock.synchronize { @wakers.delete(waker) }
    end

    def abandon
      @closed = true
      []
    end

    def close_native(seconds)
      left = nil
      Waiting.call do
        out = FFI::MemoryPointer.new(:pointer)
        milliseconds = Durations.milliseconds(seconds)
        Native.check { |error| Native.acemq_connection_close_naming(pointer, milliseconds, out, error) }
      rescue TimeoutError, ClosedError
        nil # it is closed all the same
      ensure
        left = Work.take(out.read_pointer)
      end
      @events&.join
      left
    end
  end
end
