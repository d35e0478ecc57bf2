# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_partitioning
    class Partitioning < FFI::Struct
      layout :size, :size_t, :header, :pointer, :key, :pointer, :user, :pointer, :partitions, :int64, :rule, :int64
    end

    # acemq_ordered_options
    class OrderedOptions < FFI::Struct
      layout :size, :size_t, :consumer, :pointer, :partitions, :int64, :failure, :int64
    end

    quick :acemq_partitioning_init, %i[pointer size_t], :int
    quick :acemq_ordered_queue, [:string, :pointer, Bytes.by_value, :pointer, :pointer, :pointer], :int
    quick :acemq_ordered_options_init, %i[pointer size_t], :int
    waits :acemq_ordered_open, %i[pointer string pointer pointer pointer], :int
    quick :acemq_ordered_next, %i[pointer int64 pointer pointer], :int
    attach_function :slow_ordered_next, :acemq_ordered_next, %i[pointer int64 pointer pointer], :int, blocking: true
    quick :acemq_ordered_wake, [:pointer], :void
    quick :acemq_ordered_fd, [:pointer], :int
    quick :acemq_ordered_pause, %i[pointer pointer], :int
    quick :acemq_ordered_resume, %i[pointer int64 pointer], :int
    quick :acemq_ordered_paused, [:pointer], :int
    quick :acemq_ordered_subscribed, [:pointer], :int
    quick :acemq_ordered_halted, %i[pointer int64 pointer], :int
    quick :acemq_ordered_get_gaps, %i[pointer pointer pointer], :int
    quick :acemq_gaps_count, [:pointer], :size_t
    quick :acemq_gaps_total, [:pointer], :uint64
    quick :acemq_gaps_partition, %i[pointer size_t], :int64
    quick :acemq_gaps_id, %i[pointer size_t], :string
    quick :acemq_gaps_reason, %i[pointer size_t], :string
    quick :acemq_gaps_time, %i[pointer size_t], :int64
    quick :acemq_gaps_parked, %i[pointer size_t], :int
    quick :acemq_gaps_free, [:pointer], :void
    waits :acemq_ordered_drain, %i[pointer int64 pointer pointer pointer], :int
    waits :acemq_ordered_close, %i[pointer pointer], :int
    waits :acemq_ordered_free, [:pointer], :void
    quick :acemq_ordered_get_counters, %i[pointer pointer pointer], :int
  end

  # A message that ordered consuming passed over.
  # @!attribute parked [Boolean] else it went to the dead letters
  Gap = Struct.new(:partition, :id, :reason, :time, :parked)

  # Messages of one key in their order: one message of a partition at a time, as many at once as there are partitions.
  class Ordered < Receiver
    FAILURES = { stop: 0, retry_in_place: 1, skip: 2 }.freeze
    RULES = { unsigned: 0, java: 1, dotnet: 2 }.freeze
    NAME_SIZE = 256

    # @return [Integer]
    attr_reader :partitions

    # @api private
    def self.open(connection, name, partitions: 8, failure: :stop, **options)
      settings = ConsumerSettings.new(connection, **options)
      ordered = Options.new(Native::OrderedOptions, :acemq_ordered_options_init)
      ordered.number(:partitions, partitions)
      ordered.choice(:failure, failure, FAILURES)
      handle = Waiting.call(cancel: -> { settings.cancel.fire }) do
        settings.with do |native|
          ordered.handle(:consumer, native.to_ptr)
          made = Native.made { |out, error| Native.acemq_ordered_open(connection.pointer, name, ordered, out, error) }
          Handle.new(made, :acemq_ordered_free)
        end
      end
      new(connection, name, handle, Native.acemq_ordered_fd(handle.pointer), settings, partitions)
    end

    # @api private
    def self.queue_for(name, key, partitions, rule)
      options = Options.new(Native::Partitioning, :acemq_partitioning_init)
      options.number(:partitions, partitions)
      options.choice(:rule, rule, RULES)
      queue = FFI::MemoryPointer.new(:char, NAME_SIZE)
      Native.check { |error| Native.acemq_ordered_queue(name, options, Native::Bytes.of(key.to_s), nil, queue, error) }
      queue.read_string.force_encoding(Encoding::UTF_8)
    end

    # @api private
    def initialize(connection, queue, handle, descriptor, settings, partitions)
      super(connection, queue, handle, descriptor, settings)
      @partitions = partitions
    end

    # All partitions: what is in hand is finished, what is being waited for goes back to its place.
    def pause = Native.check { |error| Native.acemq_ordered_pause(@handle.pointer, error) }

    # Goes on with what was paused, or halted at a failure.
    # @param partition [Integer, nil] nil: all
    def resume(partition = nil)
      Native.check { |error| Native.acemq_ordered_resume(@handle.pointer, partition || -1, error) }
    end

    # @return [Boolean]
    def paused? = Native.acemq_ordered_paused(@handle.pointer) == 1

    # @return [Boolean]
    def subscribed? = Native.acemq_ordered_subscribed(@handle.pointer) == 1

    # @return [Error, nil] why the partition halted; nil when it did not
    def halted(partition)
      out = FFI::MemoryPointer.new(:pointer)
      return nil unless Native.acemq_ordered_halted(@handle.pointer, partition, out) == 1

      pointer = out.read_pointer
      return StateError.new("the partition is halted") if pointer.null?

      Error.take(Native.acemq_error_code(pointer), pointer)
    end

    # @return [Array<Gap>] the newest 1000
    def gaps
      list = Native.made { |out, error| Native.acemq_ordered_get_gaps(@handle.pointer, out, error) }
      Array.new(Native.acemq_gaps_count(list)) { |index| gap(list, index) }
    ensure
      Native.acemq_gaps_free(list) if list
    end

    # @return [Integer] all gaps there were since it was opened
    def gaps_total
      list = Native.made { |out, error| Native.acemq_ordered_get_gaps(@handle.pointer, out, error) }
      Native.acemq_gaps_total(list)
    ensure
      Native.acemq_gaps_free(list) if list
    end

    # Ends each {#pull} under way, or else the next one.
    def wake = Native.acemq_ordered_wake(@handle.pointer)

    private

    def gap(list, index)
      Gap.new(Native.acemq_gaps_partition(list, index), Native.text(Native.acemq_gaps_id(list, index)),
              Native.text(Native.acemq_gaps_reason(list, index)), Message.time(Native.acemq_gaps_time(list, index)),
              Native.acemq_gaps_parked(list, index) == 1)
    end

    def take_quickly(slot, error) = Native.acemq_ordered_next(@handle.pointer, 0, slot, error)

    def take_slowly(slot, wait, error) = Native.slow_ordered_next(@handle.pointer, wait, slot, error)

    def count_into(counters, error) = Native.acemq_ordered_get_counters(@handle.pointer, counters, error)

    def close_native = Native.check { |error| Native.acemq_ordered_close(@handle.pointer, error) }

    def drained_within?(slice)
      Native.check { |error| Native.acemq_ordered_drain(@handle.pointer, slice, nil, nil, error) }
      true
    rescue TimeoutError
      nil
    end
  end

  # Groups, and messages in order.
  class Connection
    # As {#consume}, with up to +members+ handlers at once.
    # @param members [Integer] 1 to 1000
    # @return [Group]
    def group(queue, members: 2, **options, &handler)
      register(Group.open(self, queue, members: members, **options), members, handler)
    end

    # Publishes to the partition queue of the key: messages of one key stay in their order.
    # @param partitions [Integer] 1 to 1024, the same for all who publish and consume
    # @param rule [Symbol] :unsigned, :java or :dotnet
    # @return [true]
    def publish_ordered(name, key, payload, partitions: 8, rule: :unsigned, **options)
      publish(Ordered.queue_for(name, key, partitions, rule), payload, **options)
    end

    # Consumes the partition queues of a name, one message of a partition at a time. They are declared with
    # {Topology#partitioned}.
    # @param failure [Symbol] what becomes of a message whose attempts are used up: :stop halts its partition,
    #   :retry_in_place tries it for ever, :skip sends it to the dead letters and records a gap
    # @return [Ordered]
    def ordered(name, partitions: 8, failure: :stop, **options, &handler)
      register(Ordered.open(self, name, partitions: partitions, failure: failure, **options), partitions, handler)
    end
  end
end
