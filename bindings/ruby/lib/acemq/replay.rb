# frozen_string_literal: true

module AceMQ
  module Native
    callback :replay_filter, %i[pointer pointer], :int
    callback :replay_progress, %i[uint64 uint64 uint64 pointer], :void

    # acemq_replay_options
    class ReplayOptions < FFI::Struct
      layout :size, :size_t, :id, :pointer, :filter, :replay_filter, :filter_user, :pointer,
             :progress, :replay_progress, :progress_user, :pointer, :cancel, :pointer, :max, :int64, :timeout, :int64,
             :acknowledgement_limit, :int64, :source, :int32, :keep_attempts, :int32, :dry_run, :int32, :reserved, :int32
    end

    # acemq_replay_result
    class ReplayOutcome < FFI::Struct
      layout :size, :size_t, :replayed, :uint64, :declined, :uint64, :left, :uint64, :reserved, :uint64
    end

    quick :acemq_replay_options_init, %i[pointer size_t], :int
    waits :acemq_replay_pending, %i[pointer string int int64 pointer pointer], :int
    waits :acemq_replay, %i[pointer string pointer pointer pointer], :int
  end

  # How far a replay got.
  # @!attribute left [Integer] in the failure queue afterwards, the declined ones included
  ReplayResult = Struct.new(:replayed, :declined, :left)

  # One replay. What the block raises ends it.
  # @api private
  class Replay
    SOURCES = { dead_letters: 0, parked: 1 }.freeze

    def initialize(connection, queue, filter, source: :dead_letters, id: nil, max: nil, timeout: nil, keep_attempts: nil,
                   dry_run: nil, codec: nil, on_progress: nil)
      @connection = connection
      @queue = queue
      @filter = filter
      @progress = on_progress
      @codec = codec.nil? ? connection.codec : Codec.of(codec)
      @cancel = Cancel.new
      @options = options(source, max, timeout)
      @options.text(:id, id)
      @options.flag(:keep_attempts, keep_attempts)
      @options.flag(:dry_run, dry_run)
      set_callbacks
    end

    def run
      Waiting.call(cancel: -> { @cancel.fire }) do
        outcome = Native::ReplayOutcome.new
        outcome[:size] = Native::ReplayOutcome.size
        begin
          Native.check { |error| Native.acemq_replay(@connection.pointer, @queue, @options, outcome, error) }
        rescue CancelledError
          raise @failure || $!
        end
        raise @failure if @failure

        ReplayResult.new(outcome[:replayed], outcome[:declined], outcome[:left])
      end
    end

    private

    def options(source, max, timeout)
      options = Options.new(Native::ReplayOptions, :acemq_replay_options_init)
      options.handle(:cancel, @cancel)
      options.choice(:source, source, SOURCES)
      options.number(:max, max)
      options.duration(:timeout, timeout)
      options
    end

    def set_callbacks
      @options.struct[:filter] = @wanted = method(:wanted).to_proc if @filter
      @options.struct[:progress] = @told = method(:tell).to_proc if @progress
    end

    # Nothing may leave a callback but its answer: what was raised ends the replay, and is raised again after it.
    def wanted(pointer, _user)
      return 0 if @failure

      message = Message.new(pointer, @codec)
      @filter.call(message) ? 1 : 0
    rescue Exception => e # rubocop:disable Lint/RescueException
      stop(e)
    ensure
      message&.let_go
    end

    def tell(replayed, declined, total, _user)
      @progress.call(replayed, declined, total) unless @failure
    rescue Exception => e # rubocop:disable Lint/RescueException
      stop(e)
    end

    def stop(failure)
      @failure = failure
      @cancel.fire
      0
    end
  end

  # Bringing dead letters and parked messages home.
  class Connection
    # Moves messages from the dead letters of a queue back to it, all of them or those that the block takes.
    # @param source [Symbol] :dead_letters or :parked
    # @param id [String, nil] only the message with this id
    # @param max [Integer, nil] at most so many; nil: all that are there when it begins
    # @param keep_attempts [Boolean] attempt and error stay as they are
    # @param dry_run [Boolean] counts what would be moved
    # @param on_progress [#call, nil] told replayed, declined and total after each message
    # @yieldparam message [Message] which cannot be settled
    # @yieldreturn [Boolean] false: it stays
    # @return [ReplayResult]
    def replay(queue, **options, &filter) = Replay.new(self, queue, filter, **options).run

    # @param source [Symbol] :dead_letters or :parked
    # @return [Integer] how many messages wait among the dead letters of a queue
    def pending(queue, source: :dead_letters, timeout: 30)
      number = Replay::SOURCES.fetch(source) { raise InvalidArgument.new("source #{source} is no failure queue", field: "source") }
      wait = Durations.milliseconds(timeout)
      Waiting.call do
        out = FFI::MemoryPointer.new(:uint64)
        Native.check { |error| Native.acemq_replay_pending(pointer, queue, number, wait, out, error) }
        out.read_uint64
      end
    end
  end
end
