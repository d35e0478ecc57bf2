# frozen_string_literal: true

module AceMQ
  # What every failure of the library is. Its message is one line that names the field and the limit at fault, and
  # never holds a password.
  class Error < StandardError
    # @return [Integer, nil] the code of the library's headers (error.h)
    attr_reader :code
    # @return [String] the stable name of the code, such as "login_refused"
    attr_reader :name
    # @return [String] the argument, option, property or header at fault, or ""
    attr_reader :field
    # @return [Integer] the limit that was passed, in the field's own unit; 0 where there is none
    attr_reader :limit
    # @return [Integer] the AMQP reply code behind it; 0 where there is none
    attr_reader :reply_code

    CLASSES = {} # rubocop:disable Style/MutableConstant
    private_constant :CLASSES

    def initialize(message = nil, details = {})
      @code = details.fetch(:code, self.class.code)
      @name = @code ? Native.acemq_status_name(@code) : ""
      @field = details.fetch(:field, "")
      @limit = details.fetch(:limit, 0)
      @reply_code = details.fetch(:reply_code, 0)
      @retriable = details.fetch(:retriable, false)
      @fatal = details.fetch(:fatal, false)
      super(message || @name)
    end

    # @return [Boolean] whether the same call, unchanged, may succeed later
    def retriable? = @retriable

    # @return [Boolean] whether repeating is useless
    def fatal? = @fatal

    class << self
      # The code that this class stands for.
      def code = defined?(@own_code) ? @own_code : nil

      # @api private
      def stands_for(code)
        @own_code = code
        CLASSES[code] = self
      end

      # Reads an error of the library's, and frees it.
      # @api private
      def take(status, pointer)
        read(status, pointer)
      ensure
        Native.acemq_error_free(pointer)
      end

      # @api private
      def read(status, pointer)
        kind = CLASSES.fetch(status, Error)
        return kind.new(nil, code: status) if pointer.null?

        kind.new(Native.text(Native.acemq_error_message(pointer)), details(status, pointer))
      end

      private

      def details(status, pointer)
        { code: status, field: Native.text(Native.acemq_error_field(pointer)), limit: Native.acemq_error_limit(pointer),
          reply_code: Native.acemq_error_reply_code(pointer), retriable: Native.acemq_error_is_retriable(pointer) == 1,
          fatal: Native.acemq_error_is_fatal(pointer) == 1 }
      end
    end
  end

  # The caller's own doing; nothing was sent.
  class UsageError < Error; end
  # The way to the broker.
  class ConnectionError < Error; end
  # The broker's answer to an operation.
  class BrokerError < Error; end
  # What became of a publish that was not confirmed and routed.
  class PublishError < Error; end
  # Stores of claims and of the outbox.
  class StoreError < Error; end

  # @api private
  def self.error_class(name, code, parent = Error)
    const_set(name, Class.new(parent) { stands_for code })
  end
  private_class_method :error_class

  { InvalidArgument: 1, LimitError: 2, ParseError: 3, ReservedHeader: 4, StateError: 5, ClosedError: 6, ForkedError: 7,
    FromHandler: 8, WrongThread: 9, SettledError: 10, StaleError: 11, Unsupported: 12 }.each do |name, code|
    error_class(name, code, UsageError)
  end
  { OutOfMemory: 20, SystemError: 21, TimeoutError: 30, CancelledError: 31 }.each { |name, code| error_class(name, code) }
  { Unreachable: 40, LoginRefused: 41, VhostRefused: 42, ConnectionLost: 43, ProtocolError: 44 }.each do |name, code|
    error_class(name, code, ConnectionError)
  end
  { AccessRefused: 50, NotFound: 51, Locked: 52, Differs: 53, ChannelClosed: 54 }.each do |name, code|
    error_class(name, code, BrokerError)
  end
  { Unroutable: 60, Nacked: 61, Refused: 62, UnknownOutcome: 63 }.each do |name, code|
    error_class(name, code, PublishError)
  end
  # A body, or a payload, is not what its codec stands for.
  error_class(:DecodeError, 70)
  StoreError.stands_for 80
  { StoreFull: 81, Fenced: 82 }.each { |name, code| error_class(name, code, StoreError) }
  # The TLS handshake failed.
  class TLSError < ConnectionError; stands_for 90; end
  { TLSName: 91, TLSUntrusted: 92, TLSExpired: 93, TLSPlainServer: 94, TLSWanted: 95, TLSClientCertificate: 96,
    TLSVersion: 97 }.each { |name, code| error_class(name, code, TLSError) }

  # Some publishes of a batch or of a window were not confirmed.
  class BatchError < PublishError
    # @return [Hash{Integer => Error}] what became of each that failed, by its place from 0
    attr_reader :failures

    def initialize(failures, count)
      @failures = failures
      place, first = failures.first
      super("#{failures.size} of #{count} publishes failed; the first is number #{place}: #{first.message}", code: first.code)
    end
  end

  # Raised by a handler: the message goes to the dead letters at once.
  class Reject < StandardError; end
  # Raised by a handler: the message is parked at once.
  class Park < StandardError; end
end
