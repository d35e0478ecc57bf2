# frozen_string_literal: true

require_relative "acemq.so"

# What SWIG raises for an object that was freed; it would make the class at its first use.
class ObjectPreviouslyDeleted < RuntimeError; end

# The whole ABI of libacemq; see docs/swig.md.
module Acemq
  FOREVER = (2**63) - 1
  MILLISECOND = 1
  SECOND = 1000
  MINUTE = 60_000
  HOUR = 3_600_000
  DAY = 86_400_000
  CLAIM_THRESHOLD = 65_536

  FreedError = ::ObjectPreviouslyDeleted

  # A call failed. `result` is what it answered all the same, such as the plan of a topology that differs; else nil.
  class Error < StandardError
    attr_reader :code, :name, :field, :limit, :reply_code, :result

    # The class of each code: Acemq::TimeoutError for E_TIMEOUT.
    CLASSES = (1..127).to_h do |code|
      name = Acemq.status_name(code)
      [code, name == "unknown" ? self : Class.new(self)].tap do |_, made|
        Acemq.const_set("#{name.split("_").map(&:capitalize).join}Error", made) unless made == self
      end
    end.freeze

    def self.of(code, *members) = CLASSES.fetch(code, self).new(code, *members)

    def initialize(code, name, message, field = "", limit = 0, reply_code = 0, retriable = false, fatal = false)
      super(message)
      @code, @name, @field, @limit, @reply_code, @retriable, @fatal = code, name, field, limit, reply_code, retriable, fatal
    end

    # Whether the same call, unchanged, may succeed later.
    def retriable? = @retriable

    # Whether repeating is useless.
    def fatal? = @fatal
  end

  # Options are made with their members: ConsumerOptions.new(prefetch: 1).
  module Members
    def initialize(**members)
      super()
      members.each do |member, value|
        raise ArgumentError, "#{self.class} has no member #{member}" unless respond_to?("#{member}=")

        public_send("#{member}=", value)
      end
    end
  end

  [ConnectOptions, ConsumerOptions, GroupOptions, OrderedOptions, Partitioning, PublisherOptions, BrowserOptions,
   ReplayOptions, IdempotencyOptions, OutboxOptions, RelayOptions, MetricsOptions,
   ClaimDirectoryOptions].each { |options| options.prepend(Members) }
end
