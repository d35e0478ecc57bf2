# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_idempotency_options
    class IdempotencyOptions < FFI::Struct
      layout :size, :size_t, :name, :pointer, :retention, :int64, :timeout, :int64, :entries, :int64, :map_limit, :int64,
             :statement_timeout, :int64, :connections, :int32, :durability, :int32
    end

    # acemq_claim_view
    class ClaimView < FFI::Struct
      layout :key, :string, :token, :string, :recorded_at, :int64, :expires_at, :int64, :confirmed, :int32,
             :reserved, :int32
    end

    quick :acemq_idempotency_options_init, %i[pointer size_t], :int
    waits :acemq_idempotency_open, %i[string pointer pointer pointer], :int
    waits :acemq_idempotency_free, [:pointer], :void
    waits :acemq_idempotency_claim, %i[pointer string int64 int64 pointer pointer pointer], :int
    waits :acemq_idempotency_confirm, %i[pointer string string int64 pointer], :int
    waits :acemq_idempotency_release, %i[pointer string string int64 pointer], :int
    waits :acemq_idempotency_renew, %i[pointer string string int64 int64 pointer], :int
    waits :acemq_idempotency_purge_expired, %i[pointer int64 pointer pointer], :int
    waits :acemq_idempotency_size, %i[pointer int64 pointer pointer], :int
    waits :acemq_idempotency_list, %i[pointer string int64 int64 pointer pointer], :int
    quick :acemq_claims_count, [:pointer], :size_t
    quick :acemq_claims_get, %i[pointer size_t pointer pointer], :int
    quick :acemq_claims_free, [:pointer], :void
    quick :acemq_schema_postgres, %i[string string pointer pointer], :int
  end

  # An entry of a store of claims.
  ClaimEntry = Struct.new(:key, :token, :recorded_at, :expires_at, :confirmed)

  # A store of claims, so that what comes twice is handled once: for a consumer's +idempotency+, and for callers of their
  # own. Any thread.
  class Idempotency
    DURABILITY = { durable: 0, nosync: 1 }.freeze
    ANSWERS = { 1 => :claimed, 2 => :duplicate, 3 => :in_progress }.freeze
    TOKEN_SIZE = 65
    # What a call waits at first; then twice as long, so that a slow store gets its time and an interrupted program ends.
    FIRST_SLICE = 250
    private_constant :FIRST_SLICE

    # What a claim answered.
    # @!attribute answer [Symbol] :claimed, :duplicate or :in_progress
    Claim = Struct.new(:store, :key, :token, :answer) do
      def claimed? = answer == :claimed

      # It was handled.
      def confirm(**options) = store.confirm(key, token, **options)

      # It was not handled: anybody may claim it.
      def release(**options) = store.release(key, token, **options)

      # The lease begins anew.
      def renew(lease, **options) = store.renew(key, token, lease, **options)
    end

    # @param where [String] "memory:", "lmdb:PATH" or "postgresql://…"
    # @param name [String, nil] of the table or database
    # @param retention [Numeric, String, nil] how long a confirmation is kept; default 24 h
    # @param timeout [Numeric, String, nil] of opening and of a consumer's calls; default 10 s
    # @option options [Integer] :entries of the store in memory; default 100 000
    # @option options [Integer] :map_limit bytes that LMDB's map may grow to
    # @option options [Symbol] :durability :durable or :nosync
    # @option options [Integer] :connections to PostgreSQL
    # @option options [Numeric, String] :statement_timeout
    def initialize(where, name: nil, retention: nil, timeout: nil, **options)
      settings = Options.new(Native::IdempotencyOptions, :acemq_idempotency_options_init)
      settings.text(:name, name)
      settings.duration(:retention, retention)
      settings.duration(:timeout, timeout)
      options.each { |option, value| fill(settings, option, value) }
      @handle = Waiting.call do
        Handle.new(Native.made { |out, error| Native.acemq_idempotency_open(where, settings, out, error) },
                   :acemq_idempotency_free)
      end
      @closed = false
    end

    # @api private
    def pointer
      @closed ? raise(ClosedError, "the store is closed") : @handle.pointer
    end

    # Claims a key for so long, unless it is confirmed or somebody's.
    # @return [Claim]
    # @raise [TimeoutError, StoreError] it was not claimed
    def claim(key, lease: 300, timeout: 10)
      lease = Durations.milliseconds(lease, "lease")
      give_back = ->(claim) { claim.release if claim.claimed? }
      patiently(timeout, discard: give_back) do |wait, error|
        token = FFI::MemoryPointer.new(:char, TOKEN_SIZE)
        answer = FFI::MemoryPointer.new(:int)
        status = Native.acemq_idempotency_claim(pointer, key, lease, wait, token, answer, error)
        [status, -> { Claim.new(self, key, token.read_string, ANSWERS.fetch(answer.read_int)) }]
      end
    end

    # @raise [Fenced] the claim ran out and was taken over, or was released
    def confirm(key, token, timeout: 10)
      patiently(timeout) { |wait, error| [Native.acemq_idempotency_confirm(pointer, key, token, wait, error), nil] }
    end

    # @raise [Fenced]
    def release(key, token, timeout: 10)
      patiently(timeout) { |wait, error| [Native.acemq_idempotency_release(pointer, key, token, wait, error), nil] }
    end

    # @raise [Fenced]
    def renew(key, token, lease, timeout: 10)
      lease = Durations.milliseconds(lease, "lease")
      patiently(timeout) { |wait, error| [Native.acemq_idempotency_renew(pointer, key, token, lease, wait, error), nil] }
    end

    # Runs the block when the key was not handled yet, and confirms it when the block returns; what it raises releases
    # the claim.
    # @return [Symbol] :claimed when the block ran, else :duplicate or :in_progress
    def once(key, **options)
      claim = claim(key, **options)
      return claim.answer unless claim.claimed?

      finished = false
      begin
        yield
        finished = true
      ensure
        finished ? claim.confirm : claim.release
      end
      :claimed
    end

    # Takes away all entries whose time is over.
    # @return [Integer] how many
    def purge_expired(timeout: 10) = counted(:acemq_idempotency_purge_expired, timeout)

    # @return [Integer] how many entries there are
    def size(timeout: 10) = counted(:acemq_idempotency_size, timeout)

    # @param after [String, nil] only keys greater than this one
    # @return [Array<ClaimEntry>] in the order of their keys
    def list(after: nil, max: 1000, timeout: 10)
      patiently(timeout) do |wait, error|
        out = FFI::MemoryPointer.new(:pointer)
        status = Native.acemq_idempotency_list(pointer, after, max, wait, out, error)
        [status, -> { entries(out.read_pointer) }]
      end
    end

    # Consumers that have it keep it open. Again is fine.
    def close
      @closed = true
      @handle = nil # the library's is freed with the last who refers to it
    end

    # The statements that make the tables of the PostgreSQL stores.
    # @return [String]
    def self.schema(idempotency: nil, outbox: nil)
      Native.take_text(Native.made { |out, error| Native.acemq_schema_postgres(idempotency, outbox, out, error) })
    end

    private

    def fill(settings, option, value)
      case option
      when :entries, :map_limit then settings.number(option, value)
      when :statement_timeout then settings.duration(option, value)
      when :connections then settings.number(option, value, 32)
      when :durability then settings.choice(option, value, DURABILITY)
      else raise InvalidArgument.new("a store of claims has no option #{option}", field: option.to_s)
      end
    end

    # What timed out has not been done, so that it can be asked again.
    def patiently(timeout, discard: nil)
      finish = Durations.now + (Durations.milliseconds(timeout) / 1000.0)
      slice = FIRST_SLICE
      loop do
        left = [((finish - Durations.now) * 1000).ceil, 0].max
        return Waiting.call(discard: discard) { once_within([left, slice].min) { |wait, error| yield wait, error } }
      rescue TimeoutError
        raise if left <= slice

        slice *= 2
      end
    end

    def once_within(wait)
      read = nil
      Native.check do |error|
        status, read = yield wait, error
        status
      end
      read&.call
    end

    def counted(function, timeout)
      patiently(timeout) do |wait, error|
        out = FFI::MemoryPointer.new(:uint64)
        [Native.public_send(function, pointer, wait, out, error), -> { out.read_uint64 }]
      end
    end

    def entries(list)
      Array.new(Native.acemq_claims_count(list)) do |index|
        view = Native::ClaimView.new
        Native.check { |error| Native.acemq_claims_get(list, index, view, error) }
        ClaimEntry.new(Native.text(view[:key]), view[:token], Message.time(view[:recorded_at]),
                       Message.time(view[:expires_at]), view[:confirmed] == 1)
      end
    ensure
      Native.acemq_claims_free(list)
    end
  end
end
