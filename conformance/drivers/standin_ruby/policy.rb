# frozen_string_literal: true

# The retry policy and the names as the Ruby peer has them: sections 1, 5, 16.1 and 16.2. Delays are float seconds.
module Standin
  # The peer has no such thing; the text says which.
  class NotOffered < StandardError; end

  Policy = Struct.new(:attempts, :initial, :multiplier, :cap, :jitter, :age, :threshold, keyword_init: true) do
    def self.of(**given)
      new(attempts: 1, initial: 0.0, multiplier: 2.0, cap: 0.0, jitter: 0.0, age: 0.0, threshold: 30.0, **given)
    end

    # The wait after an attempt, unjittered.
    def wait_after(attempt)
      delay = initial
      (1...attempt).each do
        delay *= multiplier
        break if cap.positive? && delay > cap
      end
      cap.positive? ? [delay, cap].min : delay
    end

    def gives_up?(attempt, message_age)
      attempt >= attempts || (age.positive? && message_age >= age)
    end

    def in_broker?(delay)
      threshold.positive? && delay.positive? && delay >= threshold
    end

    # A wait in the consumer; nothing keeps it above 0.
    def jittered(delay, unit = (Kernel.rand * 2) - 1)
      jitter.positive? && delay.positive? ? delay * (1 + (unit * jitter)) : delay
    end

    # Name and wait of each rung: one a name, the first wait that has it.
    def rungs(queue)
      waits = (1...attempts).lazy.map { |attempt| wait_after(attempt) }.select { |wait| in_broker?(wait) }
      waits.each_with_object({}) { |wait, found| found[Policies.rung(queue, wait)] ||= wait }
    end

    # The smallest rung that is long enough, else the longest.
    def rung_for(queue, wait)
      return nil unless in_broker?(wait)

      found = rungs(queue)
      long_enough = found.select { |_, ttl| ttl >= wait }
      (long_enough.min_by(&:last) || found.max_by(&:last))&.first
    end
  end

  # Texts to policies and names.
  module Policies
    UNITS = { "ms" => 1, "s" => 1000, "m" => 60_000, "h" => 3_600_000, "d" => 86_400_000 }.freeze
    SUFFIXES = { "giveUpAfter" => :age, "threshold" => :threshold, "jitter" => :jitter,
                 "multiplier" => :multiplier }.freeze

    module_function

    def duration(text)
      return 0.0 if %w[0 none].include?(text)

      found = /\A(\d+)(ms|s|m|h|d)\z/.match(text) or raise ArgumentError, "no duration: #{text}"
      found[1].to_i * UNITS[found[2]] / 1000.0
    end

    # A policy from its text. The peer has no texts: this only makes its policies reachable.
    def parse(text)
      return Policy.of if text.nil?

      start = /\A(none|fixed|exponential)(?:\(([^)]*)\))?/.match(text) or raise ArgumentError, "no policy: #{text}"
      policy = made(start[1], (start[2] || "").split(",").map(&:strip))
      start.post_match.scan(/\.(\w+)\(([^)]*)\)/) { |name, value| change(policy, name, value) }
      policy
    end

    def made(kind, given)
      case kind
      when "none" then Policy.of
      when "fixed" then Policy.of(attempts: given[0].to_i, initial: duration(given[1]), multiplier: 1.0)
      else Policy.of(attempts: given[0].to_i, initial: duration(given[1]), cap: duration(given[2]), jitter: 0.2)
      end
    end

    def change(policy, name, value)
      return if name == "wholeSecondNames"

      field = SUFFIXES[name] or raise NotOffered, "the peer's policies have no #{name}"
      policy[field] = %i[age threshold].include?(field) ? duration(value) : value.to_f
    end

    def rung(queue, delay)
      "#{queue}.retry.#{rendered(delay)}"
    end

    # A delay in a rung's name: whole seconds, and 0s below one.
    def rendered(delay)
      seconds = delay.to_i
      return "0s" if seconds <= 0
      return "#{seconds / 3600}h" if (seconds % 3600).zero?

      (seconds % 60).zero? ? "#{seconds / 60}m" : "#{seconds}s"
    end

    def milliseconds(delay)
      (delay * 1000).round(3).to_i
    end

    def rung_arguments(queue, delay)
      { "x-message-ttl" => (delay * 1000).round, "x-dead-letter-exchange" => "acemq.retry",
        "x-dead-letter-routing-key" => queue }
    end

    # FNV-1a of 32 bits, unsigned modulo.
    def partition(key, count)
      hashed = key.each_byte.reduce(2_166_136_261) { |hash, byte| ((hash ^ byte) * 16_777_619) & 0xFFFF_FFFF }
      count > 1 ? hashed % count : 0
    end
  end
end
