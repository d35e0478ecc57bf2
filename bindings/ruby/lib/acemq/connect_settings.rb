# frozen_string_literal: true

module AceMQ
  # The options of connecting.
  # @api private
  class ConnectSettings
    DURATIONS = %i[timeout call_timeout reconnect_initial reconnect_max publish_timeout keepalive keepalive_interval
                   tcp_user_timeout].freeze
    NUMBERS = %i[outstanding max_body max_queued max_output max_headers].freeze
    SMALL_NUMBERS = %i[frame_max channel_max max_header_entries max_nesting keepalive_count].freeze
    TEXTS = %i[name ca_file ca_folder certificate_file key_file key_password server_name].freeze
    LEVELS = { none: 0, error: 1, warning: 2, info: 3, debug: 4 }.freeze
    SOURCES = { file: 1, environment: 2, event: 4 }.freeze

    attr_reader :options, :cancel, :logger, :callbacks

    def initialize(logger: nil, log_level: nil, credentials: nil, verify: nil, heartbeat: nil, **others)
      @cancel = Cancel.new
      @logger = logger
      @callbacks = {}
      @options = Options.new(Native::ConnectOptions, :acemq_connect_options_init)
      @options.handle(:cancel, @cancel)
      @options.flag(:verify, verify)
      @options.choice(:log_level, log_level, LEVELS)
      @options.struct[:heartbeat] = heartbeat == false ? 0 : Durations.milliseconds(heartbeat, "heartbeat") unless heartbeat.nil?
      read_credentials(credentials)
      others.each { |name, value| fill(name, value) }
      @options.struct[:events] = Events.mask(@logger, @callbacks)
    end

    private

    def fill(name, value)
      if DURATIONS.include?(name) then @options.duration(name, value)
      elsif NUMBERS.include?(name) then @options.number(name, value)
      elsif SMALL_NUMBERS.include?(name) then @options.number(name, value, 32)
      elsif TEXTS.include?(name) then @options.text(name, value)
      elsif Events::CALLBACKS.key?(name) then @callbacks[name] = value
      else raise InvalidArgument.new("connecting has no option #{name}", field: name.to_s)
      end
    end

    # A callable, { file: path }, or { user_variable: …, password_variable: … }.
    def read_credentials(given)
      case given
      when nil then nil
      when Hash then read_source(given)
      else
        raise InvalidArgument.new("credentials is no callable", field: "credentials") unless given.respond_to?(:call)

        @callbacks[:credentials] = given
        @options.struct[:credentials] = SOURCES[:event]
      end
    end

    def read_source(given)
      if given.key?(:file)
        @options.struct[:credentials] = SOURCES[:file]
        @options.text(:credentials_file, given[:file])
      else
        @options.struct[:credentials] = SOURCES[:environment]
        @options.text(:user_variable, given[:user_variable])
        @options.text(:password_variable, given[:password_variable])
      end
    end
  end
end
