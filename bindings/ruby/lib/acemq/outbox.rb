# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_outbox_options
    class OutboxOptions < FFI::Struct
      layout :size, :size_t, :name, :pointer, :timeout, :int64, :attempts, :int32, :reserved, :int32
    end

    # acemq_outbox_row
    class OutboxRow < FFI::Struct
      layout :size, :size_t, :id, :string, :exchange, :string, :routing_key, :string, :content_type, :string,
             :headers, :string, :last_error, :string, :body, Bytes, :created_at, :int64, :leased_until, :int64,
             :attempts, :int32, :reserved, :int32
    end

    # acemq_outbox_counts
    class OutboxCounts < FFI::Struct
      layout :size, :size_t, :pending, :uint64, :retired, :uint64, :published, :uint64, :oldest_age, :int64,
             :reserved, :uint64
    end

    # acemq_relay_options
    class RelayOptions < FFI::Struct
      layout :size, :size_t, :every, :int64, :lease, :int64, :batch, :int32, :reserved, :int32
    end

    # acemq_relay_counters
    class RelayCounters < FFI::Struct
      layout :size, :size_t, :published, :uint64, :failed, :uint64, :retired, :uint64, :passes, :uint64, :reserved, :uint64
    end

    quick :acemq_outbox_options_init, %i[pointer size_t], :int
    waits :acemq_outbox_open, %i[string pointer pointer pointer], :int
    waits :acemq_outbox_free, [:pointer], :void
    waits :acemq_outbox_enqueue, %i[pointer string string address int64 pointer pointer], :int
    quick :acemq_outbox_statement_new, %i[string int string string address pointer pointer], :int
    quick :acemq_outbox_statement_text, [:pointer], :string
    quick :acemq_outbox_statement_count, [:pointer], :size_t
    quick :acemq_outbox_statement_value, %i[pointer size_t], :string
    quick :acemq_outbox_statement_id, [:pointer], :string
    quick :acemq_outbox_statement_free, [:pointer], :void
    waits :acemq_outbox_pending, %i[pointer int64 int64 pointer pointer], :int
    waits :acemq_outbox_retired, %i[pointer int64 int64 pointer pointer], :int
    quick :acemq_outbox_list_count, [:pointer], :size_t
    quick :acemq_outbox_list_row, %i[pointer size_t pointer pointer], :int
    quick :acemq_outbox_list_free, [:pointer], :void
    waits :acemq_outbox_count, %i[pointer int64 pointer pointer], :int
    waits :acemq_outbox_release, %i[pointer string int64 pointer pointer], :int
    waits :acemq_outbox_purge_published, %i[pointer int64 int64 pointer pointer], :int
    quick :acemq_relay_options_init, %i[pointer size_t], :int
    waits :acemq_relay_start, %i[pointer pointer pointer pointer pointer], :int
    quick :acemq_relay_wake, [:pointer], :void
    waits :acemq_relay_drain, %i[pointer int64 pointer], :int
    waits :acemq_relay_stop, %i[pointer int64 pointer], :int
    waits :acemq_relay_free, [:pointer], :void
    quick :acemq_relay_count, %i[pointer pointer pointer], :int
  end

  # A message in the outbox.
  OutboxEntry = Struct.new(:id, :exchange, :routing_key, :content_type, :headers, :last_error, :body, :created_at,
                           :leased_until, :attempts)
  # What an outbox holds; +oldest_age+ in seconds.
  OutboxCount = Struct.new(:pending, :retired, :published, :oldest_age)
  # What a relay has done.
  RelayCount = Struct.new(:published, :failed, :retired, :passes)
  # An INSERT for any driver.
  # @!attribute text [String] the SQL
  # @!attribute values [Array<String>] its parameters
  # @!attribute id [String] of the message
  OutboxStatement = Struct.new(:text, :values, :id)

  # Messages that exist exactly when a transaction commits: written there, and published afterwards by a relay. Any thread.
  class Outbox
    PLACEHOLDERS = { dollar: 0, question: 1, percent: 2 }.freeze
    ID_SIZE = 257

    # The INSERT that writes a message in a transaction of your own, for the driver of your database. The table is the one
    # that {Idempotency.schema} makes.
    # @param placeholder [Symbol] :dollar ($1), :question (?) or :percent (%s)
    # @return [OutboxStatement]
    def self.statement(queue, payload, exchange: "", table: nil, placeholder: :dollar, codec: :json, **options)
      number = PLACEHOLDERS.fetch(placeholder) do
        raise InvalidArgument.new("placeholder #{placeholder} is none of #{PLACEHOLDERS.keys.join(', ')}", field: "placeholder")
      end
      codec = Codec.of(codec)
      Outgoing.with(codec, Outgoing.encode(codec, payload), options) do |message|
        made = Native.made do |out, error|
          Native.acemq_outbox_statement_new(table, number, exchange, queue, message, out, error)
        end
        read_statement(made)
      end
    end

    # @api private
    def self.read_statement(pointer)
      values = Array.new(Native.acemq_outbox_statement_count(pointer)) do |index|
        Native.text(Native.acemq_outbox_statement_value(pointer, index))
      end
      OutboxStatement.new(Native.text(Native.acemq_outbox_statement_text(pointer)), values,
                          Native.text(Native.acemq_outbox_statement_id(pointer)))
    ensure
      Native.acemq_outbox_statement_free(pointer)
    end

    # @param where [String] "memory:", "lmdb:PATH" or "postgresql://…"
    # @param name [String, nil] of the table or databases
    # @param attempts [Integer, nil] after so many failures of its own a message is retired; default 10
    # @param codec [Symbol, Object] of payloads
    def initialize(where, name: nil, timeout: nil, attempts: nil, codec: :json)
      @codec = Codec.of(codec)
      settings = Options.new(Native::OutboxOptions, :acemq_outbox_options_init)
      settings.text(:name, name)
      settings.duration(:timeout, timeout)
      settings.number(:attempts, attempts, 32)
      @handle = Waiting.call do
        Handle.new(Native.made { |out, error| Native.acemq_outbox_open(where, settings, out, error) }, :acemq_outbox_free)
      end
    end

    # @api private
    def pointer = @handle.pointer

    # Writes a message in a transaction of its own.
    # @param queue [String] the queue, or the routing key where +exchange+ is given
    # @return [String] the id of the message
    def enqueue(queue, payload, exchange: "", timeout: 10, codec: nil, **options)
      codec = codec.nil? ? @codec : Codec.of(codec)
      wait = Durations.milliseconds(timeout)
      Waiting.call do
        Outgoing.with(codec, Outgoing.encode(codec, payload), options) do |message|
          id = FFI::MemoryPointer.new(:char, ID_SIZE)
          Native.check { |error| Native.acemq_outbox_enqueue(pointer, exchange, queue, message, wait, id, error) }
          id.read_string.force_encoding(Encoding::UTF_8)
        end
      end
    end

    # @return [Array<OutboxEntry>] what is not published yet
    def pending(max: 1000, timeout: 10) = listed(:acemq_outbox_pending, max, timeout)

    # @return [Array<OutboxEntry>] what has used its attempts
    def retired(max: 1000, timeout: 10) = listed(:acemq_outbox_retired, max, timeout)

    # @return [OutboxCount]
    def count(timeout: 10)
      Waiting.call do
        counts = Native::OutboxCounts.new
        counts[:size] = Native::OutboxCounts.size
        Native.check { |error| Native.acemq_outbox_count(pointer, Durations.milliseconds(timeout), counts, error) }
        OutboxCount.new(counts[:pending], counts[:retired], counts[:published], Durations.seconds(counts[:oldest_age]))
      end
    end

    # A retired message is pending again, with all its attempts.
    # @param id [String, nil] nil: all
    # @return [Integer] how many
    def release(id = nil, timeout: 10)
      counted { |out, error| Native.acemq_outbox_release(pointer, id, Durations.milliseconds(timeout), out, error) }
    end

    # Deletes what was published at least so long ago.
    # @return [Integer] how many
    def purge_published(age, timeout: 10)
      age = Durations.milliseconds(age, "age")
      counted { |out, error| Native.acemq_outbox_purge_published(pointer, age, Durations.milliseconds(timeout), out, error) }
    end

    # It is closed with the last who refers to it, relays included.
    def close = nil

    private

    def counted
      Waiting.call do
        out = FFI::MemoryPointer.new(:uint64)
        Native.check { |error| yield out, error }
        out.read_uint64
      end
    end

    def listed(function, max, timeout)
      Waiting.call do
        list = Native.made do |out, error|
          Native.public_send(function, pointer, max, Durations.milliseconds(timeout), out, error)
        end
        rows(list)
      end
    end

    def rows(list)
      Array.new(Native.acemq_outbox_list_count(list)) do |index|
        row = Native::OutboxRow.new
        row[:size] = Native::OutboxRow.size
        Native.check { |error| Native.acemq_outbox_list_row(list, index, row, error) }
        entry(row)
      end
    ensure
      Native.acemq_outbox_list_free(list)
    end

    def entry(row)
      texts = %i[id exchange routing_key content_type].map { |name| Native.text(row[name]) }
      OutboxEntry.new(*texts, JSON.parse(row[:headers]), Native.text(row[:last_error]), row[:body].copy,
                      Message.time(row[:created_at]), Message.time(row[:leased_until]), row[:attempts])
    end
  end

  # Publishes what an outbox holds, in order, and marks it afterwards. Any thread.
  class Relay
    # @api private
    def initialize(connection, outbox, every: nil, lease: nil, batch: nil)
      settings = Options.new(Native::RelayOptions, :acemq_relay_options_init)
      settings.duration(:every, every)
      settings.duration(:lease, lease)
      settings.number(:batch, batch, 32)
      pointer = Native.made do |out, error|
        Native.acemq_relay_start(connection.pointer, outbox.pointer, settings, out, error)
      end
      @handle = Handle.new(pointer, :acemq_relay_free)
    end

    # Looks at the outbox at once: after a commit, where a second is long.
    def wake = Native.acemq_relay_wake(@handle.pointer)

    # Waits until nothing is pending.
    # @return [self]
    # @raise [TimeoutError]
    def drain(timeout: 20)
      done = Waiting.sliced(Durations.milliseconds(timeout)) { |slice| drained_within?(slice) }
      done ? self : raise(TimeoutError, "the outbox still has messages that are not published")
    end

    # Takes nothing more, and waits until what is under way is published and marked.
    # @return [Boolean] whether nothing was cut off
    def stop(timeout: 20)
      Waiting.call do
        Native.check { |error| Native.acemq_relay_stop(@handle.pointer, Durations.milliseconds(timeout), error) }
        true
      rescue TimeoutError
        false
      end
    end

    # @return [RelayCount]
    def count
      counters = Native::RelayCounters.new
      counters[:size] = Native::RelayCounters.size
      Native.check { |error| Native.acemq_relay_count(@handle.pointer, counters, error) }
      RelayCount.new(counters[:published], counters[:failed], counters[:retired], counters[:passes])
    end

    private

    def drained_within?(slice)
      Native.check { |error| Native.acemq_relay_drain(@handle.pointer, slice, error) }
      true
    rescue TimeoutError
      nil
    end
  end

  # Publishing from an outbox.
  class Connection
    # Starts a relay; with a block it is stopped when the block is left.
    # @param every [Numeric, String] between two looks at an outbox that was empty; default 1 s
    # @param lease [Numeric, String] default 60 s
    # @param batch [Integer] messages a pass
    # @return [Relay, Object]
    def relay(outbox, **options)
      relay = Relay.new(self, outbox, **options)
      return relay unless block_given?

      begin
        yield relay
      ensure
        relay.stop
      end
    end
  end
end
