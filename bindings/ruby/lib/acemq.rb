# frozen_string_literal: true

require_relative "acemq/version"
require_relative "acemq/native"
require_relative "acemq/error"
require_relative "acemq/durations"
require_relative "acemq/waiting"
require_relative "acemq/handle"
%w[table connection message consumer].each { |name| require_relative "acemq/native/#{name}" }
%w[options cancel headers codec outgoing message policy receiver consumer publisher receipts window events
   connect_settings signals connection topology queues group ordered replay idempotency outbox observing wrapping table
   rules].each { |name| require_relative "acemq/#{name}" }

# AceMQ for Ruby: publishing and consuming on RabbitMQ with retries, dead letters, replay, idempotency and an outbox.
module AceMQ
  @exiting = false
  at_exit { @exiting = true }

  class << self
    # Connects and logs in.
    #
    # With a block: hands the connection over, and closes it when the block is left, however it is left. Handlers then
    # finish the message they are at.
    # @param url [String] "amqp://user:password@host:port/vhost", "amqps://…", or "memory://name" for a broker inside
    #   this process
    # @option options [String] :name shown by the broker
    # @option options [Numeric, String] :timeout of connecting; default 10 s
    # @option options [Symbol, Object] :codec of payloads; default :json
    # @option options [Logger] :logger gets the library's log
    # @option options [Symbol] :log_level :none, :error, :warning (default), :info, :debug
    # @option options [#call] :on_event is told of {Event}s
    # @option options [#call] :on_settled is told what became of each delivery, as a {Settlement}
    # @option options [#call] :on_metric is told each {Observation}
    # @option options [#call, Hash] :credentials answers [user, password] at each connect after the first; or
    #   { file: path }, or { user_variable: name, password_variable: name }
    # @option options [Integer] :outstanding publishes under way at once; default 1000
    # @option options [Numeric, String] :publish_timeout default 30 s
    # @option options [Numeric, String, false] :heartbeat false: off; default what the broker suggests
    # @option options [String] :ca_file and ca_folder, certificate_file, key_file, key_password, server_name: TLS
    # @option options [Boolean] :verify false: the broker's certificate is not verified
    # @return [Connection, Object] with a block: what that returns
    # @raise [Unreachable, LoginRefused, VhostRefused, TLSError, TimeoutError, ParseError]
    def connect(url, **options)
      connection = Connection.new(url, **options)
      return connection unless block_given?

      begin
        result = yield connection
        connection.close
        result
      ensure
        connection.close_hurriedly
      end
    end

    # @return [String] the version of the C library
    def library_version = Native.acemq_version

    # @return [Boolean] whether "tls", "lmdb", "postgres" … can be used
    def has?(feature) = Native.acemq_has(feature.to_s) == 1

    # @api private
    def exiting? = @exiting
  end
end
