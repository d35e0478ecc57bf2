# frozen_string_literal: true

module AceMQ
  # The options of consuming, for consumers, groups and ordered consumers.
  # @api private
  class ConsumerSettings
    DECLARE = { yes: 0, verify: 1 }.freeze

    attr_reader :options, :codec, :cancel, :kept

    def initialize(connection, codec: nil, idempotency: nil, retry: nil, arguments: nil, **others)
      @codec = codec.nil? ? connection.codec : Codec.of(codec)
      @cancel = Cancel.new
      @kept = []
      @options = Options.new(Native::ConsumerOptions, :acemq_consumer_options_init)
      @options.handle(:cancel, @cancel)
      @options.handle(:codec, Codec.native(@codec))
      @options.handle(:retry, Policy.of(binding.local_variable_get(:retry)))
      keep_store(idempotency)
      fill(others)
      @arguments = arguments
    end

    # @return [Boolean] whether taking a message may wait for a store
    def slow? = !@options.struct[:idempotency].null? || @codec.respond_to?(:native)

    # Lends the options, complete, to the block.
    def with
      Headers.with(@arguments) do |table|
        @options.handle(:arguments, table)
        yield @options
      end
    end

    private

    def fill(others)
      others.each do |name, value|
        case name
        when :tag then @options.text(name, value)
        when :timeout, :acknowledgement_limit, :lease, :put_back_wait then @options.duration(name, value)
        when :prefetch_bytes then @options.number(name, value)
        when :prefetch then @options.number(name, value, 32)
        when :declare then @options.choice(name, value, DECLARE)
        when :requeue_on_failure, :exclusive, :renew then @options.flag(name, value)
        else raise InvalidArgument.new("consuming has no option #{name}", field: name.to_s)
        end
      end
    end

    # A store that is given by its address is this consumer's own, and closed with it.
    def keep_store(store)
      return if store.nil?

      if store.is_a?(String)
        store = Idempotency.new(store)
        @kept << store
      end
      @options.handle(:idempotency, store)
    end
  end

  # A consumer of one queue. Any thread, but one at a time in {#pull} and {#each}.
  class Consumer < Receiver
    # @api private
    def self.open(connection, queue, **options)
      settings = ConsumerSettings.new(connection, **options)
      pointer = Waiting.call(cancel: -> { settings.cancel.fire }) do
        settings.with do |native|
          made = Native.made { |out, error| Native.acemq_consumer_open(connection.pointer, queue, native, out, error) }
          Handle.new(made, :acemq_consumer_free)
        end
      end
      new(connection, queue, pointer, Native.acemq_consumer_fd(pointer.pointer), settings)
    end

    # Not subscribed until {#resume}: what was not begun goes back, what is in hand is finished.
    def pause = Native.check { |error| Native.acemq_consumer_pause(@handle.pointer, error) }

    # Subscribes again.
    def resume = Native.check { |error| Native.acemq_consumer_resume(@handle.pointer, error) }

    # @return [Boolean]
    def paused? = Native.acemq_consumer_paused(@handle.pointer) == 1

    # @return [Boolean] false while the connection is away, or it ended
    def subscribed? = Native.acemq_consumer_subscribed(@handle.pointer) == 1

    # @return [Integer] messages delivered ahead
    def prefetch = Native.acemq_consumer_prefetch(@handle.pointer)

    # Another one while it runs, 1 to 65535.
    def prefetch=(count)
      Options.whole(:prefetch, count)
      Native.check { |error| Native.acemq_consumer_set_prefetch(@handle.pointer, count, error) }
    end

    # @return [Array<Work>] what is in hand
    def work
      Work.take(Native.made { |out, error| Native.acemq_consumer_get_work(@handle.pointer, out, error) })
    end

    # Ends the {#pull} under way, or else the next one.
    def wake = Native.acemq_consumer_wake(@handle.pointer)

    private

    def take_quickly(slot, error) = Native.acemq_consumer_next(@handle.pointer, 0, slot, error)

    def take_slowly(slot, wait, error) = Native.slow_consumer_next(@handle.pointer, wait, slot, error)

    def count_into(counters, error) = Native.acemq_consumer_get_counters(@handle.pointer, counters, error)

    def close_native = Native.check { |error| Native.acemq_consumer_close(@handle.pointer, error) }

    def drained_within?(slice)
      Native.check { |error| Native.acemq_consumer_drain(@handle.pointer, slice, nil, error) }
      true
    rescue TimeoutError
      nil
    end
  end

  # A message in hand.
  # @!attribute queue [String]
  # @!attribute id [String]
  # @!attribute seconds [Float] how long it has been
  Work = Struct.new(:queue, :id, :seconds) do
    # @api private
    def self.take(pointer)
      Array.new(Native.acemq_work_count(pointer)) do |index|
        new(Native.text(Native.acemq_work_queue(pointer, index)), Native.text(Native.acemq_work_id(pointer, index)),
            Durations.seconds(Native.acemq_work_running(pointer, index)))
      end
    ensure
      Native.acemq_work_free(pointer)
    end
  end
end
