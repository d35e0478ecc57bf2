# frozen_string_literal: true

require "logger"

module AceMQ
  # Something that happened outside any call.
  # @!attribute kind [Symbol] such as :connection
  # @!attribute number [Integer]
  # @!attribute text [String] "" where there is none
  # @!attribute error [Error, nil] why; nil where nothing failed
  # @!attribute next_try [Float, nil] seconds, while reconnecting
  Event = Struct.new(:kind, :number, :text, :error, :next_try)

  # Hands events to the logger and the callbacks of a connection, on a thread of the binding's. It does not keep the
  # connection alive.
  # @api private
  class Events
    KINDS = { 1 => :connection, 2 => :credentials_wanted, 4 => :settle_failed, 5 => :consumer_ended, 6 => :log,
              7 => :interceptor_failed, 8 => :settled, 9 => :metric, 10 => :partition_halted, 11 => :order_gap }.freeze
    # What each callback is told.
    CALLBACKS = { on_event: [1, 4, 5, 7, 10, 11], on_settled: [8], on_metric: [9], credentials: [2] }.freeze
    SEVERITY = { 1 => Logger::ERROR, 2 => Logger::WARN, 3 => Logger::INFO, 4 => Logger::DEBUG }.freeze
    LOG = 6
    TIMEOUT = 30

    def self.mask(logger, callbacks)
      kinds = callbacks.keys.flat_map { |name| CALLBACKS.fetch(name) }
      kinds << LOG if logger
      kinds.uniq.sum { |kind| 1 << kind }
    end

    # @return [Events, nil] nil: nobody wants any
    def self.start(handle, settings)
      return nil if mask(settings.logger, settings.callbacks).zero?

      new(handle, settings.logger, settings.callbacks)
    end

    def initialize(handle, logger, callbacks)
      @handle = handle
      @logger = logger
      @callbacks = callbacks
      @signal = IO.for_fd(Native.acemq_connection_event_fd(handle.pointer), autoclose: false)
      @thread = Thread.new { listen }
      @thread.name = "acemq-events"
      @thread.report_on_exception = false
    end

    # A settlement or a consumer that failed, from a thread of the binding's.
    def failed(error, queue)
      @logger&.warn("acemq") { "#{queue}: #{error.message}" } unless error.is_a?(StaleError)
    end

    # Waits a moment for what came last.
    def join = @thread == Thread.current || @thread.join(1)

    private

    def listen
      slot = FFI::MemoryPointer.new(:pointer)
      loop do
        status = Native.acemq_connection_next_event(@handle.pointer, 0, slot, nil)
        case status
        when 0 then tell(slot)
        when TIMEOUT then @signal.wait_readable
        else break # closed, and nothing is left
        end
      end
    end

    def tell(slot)
      event = slot.read_pointer
      kind = Native.acemq_event_get_kind(event)
      case kind
      when LOG then log(event)
      when 2 then give_credentials
      when 8 then @callbacks[:on_settled]&.call(Settlement.read(Native.acemq_event_settlement(event)))
      when 9 then @callbacks[:on_metric]&.call(Observation.read(Native.acemq_event_observation(event)))
      else @callbacks[:on_event]&.call(describe(kind, event))
      end
    rescue StandardError => e
      complain(e)
    ensure
      Native.acemq_event_free(event)
    end

    def complain(error)
      @logger&.error("acemq") { "a callback failed: #{error.class}: #{error.message}" }
    rescue StandardError
      nil # the logger itself is what failed
    end

    def log(event)
      text = Native.text(Native.acemq_event_text(event))
      @logger.add(SEVERITY.fetch(Native.acemq_event_number(event), Logger::INFO), text, "acemq")
    end

    def describe(kind, event)
      number = Native.acemq_event_number(event)
      failure = Native.acemq_event_error(event)
      code = Native.acemq_error_code(failure)
      next_try = Native.acemq_event_next_try(event)
      Event.new(KINDS.fetch(kind, :unknown), number, Native.text(Native.acemq_event_text(event)),
                failure.null? ? nil : Error.read(code, failure), next_try.negative? ? nil : Durations.seconds(next_try))
    end

    def give_credentials
      user, password = @callbacks.fetch(:credentials).call
      Native.check { |error| Native.acemq_connection_give_credentials(@handle.pointer, user, password, error) }
    end
  end
end
