# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_policy_none, [], :pointer
    quick :acemq_policy_fixed, %i[int64 int64], :pointer
    quick :acemq_policy_exponential, %i[int64 int64 int64], :pointer
    quick :acemq_policy_parse, %i[string pointer pointer], :int
    quick :acemq_policy_free, [:pointer], :void
    quick :acemq_policy_give_up_after, %i[pointer int64], :void
    quick :acemq_policy_threshold, %i[pointer int64], :void
    quick :acemq_policy_jitter, %i[pointer double], :void
    quick :acemq_policy_multiplier, %i[pointer double], :void
    quick :acemq_policy_whole_second_names, [:pointer], :void
    quick :acemq_policy_durable_rungs, [:pointer], :void
    quick :acemq_policy_check, %i[pointer pointer], :int
    quick :acemq_policy_format, %i[pointer pointer pointer], :int
    quick :acemq_policy_max_attempts, [:pointer], :int64
    quick :acemq_policy_wait, %i[pointer int64], :int64
    quick :acemq_policy_rung_count, [:pointer], :size_t
    quick :acemq_policy_rung_delay, %i[pointer size_t], :int64
    quick :acemq_policy_rung_name, %i[pointer string int64 pointer pointer], :int
  end

  # How often a message is tried, and how long it waits in between. Immutable, any thread.
  class Policy
    NAME_SIZE = 256

    # @api private
    def initialize(pointer, settings = {})
      raise OutOfMemory if pointer.null?

      @handle = Handle.new(pointer, :acemq_policy_free)
      apply(settings)
      Native.check { |error| Native.acemq_policy_check(pointer, error) }
    end

    # @api private
    def pointer = @handle.pointer

    # Reads a policy, a text such as "exponential(5, 10s, 5m)", or nil.
    # @return [Policy, nil]
    def self.of(value)
      case value
      when nil, Policy then value
      when String then new(Native.made { |out, error| Native.acemq_policy_parse(value, out, error) })
      else raise InvalidArgument.new("retry is neither a policy nor its text", field: "retry")
      end
    end

    # @return [Integer] in all, the first included
    def attempts = Native.acemq_policy_max_attempts(pointer)

    # @return [Float] seconds that a message waits after that attempt, before jitter
    def wait_after(attempt) = Durations.seconds(Native.acemq_policy_wait(pointer, attempt))

    # @return [Array<String>] the queues that waits of this policy lie in
    def rungs(queue)
      Array.new(Native.acemq_policy_rung_count(pointer)) do |index|
        rung(queue, Native.acemq_policy_rung_delay(pointer, index))
      end
    end

    # @return [String] as the wire contract writes it
    def to_s
      Native.take_text(Native.made { |out, error| Native.acemq_policy_format(pointer, out, error) })
    end

    def inspect = "#<AceMQ::Policy #{self}>"

    private

    def rung(queue, delay)
      name = FFI::MemoryPointer.new(:char, NAME_SIZE)
      Native.check { |error| Native.acemq_policy_rung_name(pointer, queue, delay, name, error) }
      name.read_string.force_encoding(Encoding::UTF_8)
    end

    def apply(settings)
      settings.each do |name, value|
        case name
        when :give_up_after then Native.acemq_policy_give_up_after(pointer, Durations.milliseconds(value, "give_up_after"))
        when :threshold then Native.acemq_policy_threshold(pointer, Durations.milliseconds(value, "threshold"))
        when :jitter then Native.acemq_policy_jitter(pointer, value)
        when :multiplier then Native.acemq_policy_multiplier(pointer, value)
        when :whole_second_names then Native.acemq_policy_whole_second_names(pointer) if value
        when :durable_rungs then Native.acemq_policy_durable_rungs(pointer) if value
        else raise InvalidArgument.new("a policy has no #{name}", field: name.to_s)
        end
      end
    end
  end

  class << self
    # One attempt, no waits.
    # @return [Policy]
    def no_retry(**settings) = Policy.new(Native.acemq_policy_none, settings)

    # As many attempts, with the same wait between two.
    # @param wait [Numeric, String] seconds, or a text such as "10s"
    # @option settings [Numeric, String] :give_up_after the age at which a message is given up
    # @option settings [Numeric, String] :threshold waits of at least this lie in the broker; default 30 s
    # @option settings [Float] :jitter 0 to 1
    # @option settings [Boolean] :durable_rungs quorum rungs, which survive a broker's crash
    # @return [Policy]
    def fixed(attempts, wait, **settings)
      Policy.new(Native.acemq_policy_fixed(attempts, Durations.milliseconds(wait, "wait")), settings)
    end

    # Waits that double from +initial+ up to +max+, with jitter 0.2. Settings as of {fixed}, and +multiplier+.
    # @return [Policy]
    def exponential(attempts, initial, max = 0, **settings)
      initial = Durations.milliseconds(initial, "initial")
      Policy.new(Native.acemq_policy_exponential(attempts, initial, Durations.milliseconds(max, "max")), settings)
    end
  end
end
