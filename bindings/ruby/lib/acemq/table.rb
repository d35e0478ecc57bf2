# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_table_parse_json, %i[pointer size_t pointer pointer], :int
    quick :acemq_table_format_json, %i[pointer int pointer pointer], :int
    quick :acemq_table_copy, %i[pointer pointer pointer], :int
    quick :acemq_envelope_read, %i[pointer string string pointer pointer], :int
    quick :acemq_envelope_write, %i[pointer pointer pointer], :int
    quick :acemq_envelope_application_headers, %i[pointer pointer pointer], :int
    quick :acemq_envelope_free, [:pointer], :void
  end

  # A header table with every AMQP type kept as it is: for +headers+ of a publish where a Hash would not do.
  class Table
    # Reads a JSON object; {"type": T, "value": V} stands for a value of the AMQP type T.
    # @return [Table]
    def self.parse(json)
      json = json.b
      new(Native.made { |out, error| Native.acemq_table_parse_json(json, json.bytesize, out, error) })
    end

    # @api private
    # The JSON of a table that the library owns.
    def self.json_of(pointer, typed: false)
      Native.take_text(Native.made { |out, error| Native.acemq_table_format_json(pointer, typed ? 1 : 0, out, error) })
    end

    # @api private
    attr_reader :handle

    # @api private
    def initialize(pointer)
      @handle = Handle.new(pointer, :acemq_table_free)
    end

    # @api private
    def pointer = @handle.pointer

    def empty? = Native.acemq_table_count(pointer).zero?

    # @return [Hash{String => Object}]
    def to_h = Headers.read(pointer)

    # @param typed [Boolean] every value of the outermost level with its type, else only where JSON would lose it
    # @return [String]
    def json(typed: false) = Table.json_of(pointer, typed: typed)
  end

  # What AceMQ says about a message in its headers.
  Envelope = Struct.new(:id, :type, :version, :correlation, :causation, :attempt, :first_seen, :origin, :error, :claim,
                        :route, :route_position, :route_id, :replayed_from, :replayed_at, :replay_count, :reply_to) do
    # Reads an envelope out of headers, with every tolerance of the wire contract.
    # @param headers [Table]
    # @return [Array(Envelope, Table, Table)] it, the application's headers, and all headers as they are written again
    def self.parse(headers, routing_key: nil, message_id: nil)
      pointer = Native.made do |out, error|
        Native.acemq_envelope_read(headers.pointer, routing_key, message_id, out, error)
      end
      written = Table.new(Native.made { |out, error| Native.acemq_table_copy(headers.pointer, out, error) })
      Native.check { |error| Native.acemq_envelope_write(pointer, written.pointer, error) }
      own = Native.made { |out, error| Native.acemq_envelope_application_headers(headers.pointer, out, error) }
      [read(pointer), Table.new(own), written]
    ensure
      Native.acemq_envelope_free(pointer) if pointer
    end

    # @api private
    def self.read(envelope)
      steps = Array.new(Native.acemq_envelope_route_count(envelope)) do |index|
        Native.text(Native.acemq_envelope_route_step(envelope, index))
      end
      new(*first(envelope), steps.empty? ? nil : steps, steps.empty? ? nil : Native.acemq_envelope_route_position(envelope),
          Native.text(Native.acemq_envelope_route_id(envelope)), *last(envelope))
    end

    # @api private
    def self.first(envelope)
      [Native.text(Native.acemq_envelope_id(envelope)), Native.text(Native.acemq_envelope_type(envelope)),
       Native.acemq_envelope_version(envelope), Native.text(Native.acemq_envelope_correlation(envelope)),
       Native.text(Native.acemq_envelope_causation(envelope)), Native.acemq_envelope_attempt(envelope),
       Message.time(Native.acemq_envelope_first_seen(envelope)), Native.text(Native.acemq_envelope_origin(envelope)),
       Native.text(Native.acemq_envelope_error(envelope)), Native.text(Native.acemq_envelope_claim(envelope))]
    end

    # @api private
    def self.last(envelope)
      at = FFI::MemoryPointer.new(:int64)
      replayed = Native.acemq_envelope_replayed_at(envelope, at) == 1
      [Native.text(Native.acemq_envelope_replayed_from(envelope)),
       replayed ? Time.at(at.read_int64 / 1000, at.read_int64 % 1000, :millisecond).utc : nil,
       Native.acemq_envelope_replay_count(envelope), Native.text(Native.acemq_envelope_reply_to(envelope))]
    end
  end

  # The envelope as a whole.
  class Message
    # @return [Envelope]
    def envelope_values = Envelope.read(envelope)

    # @return [String] the application's headers as JSON, with their AMQP types where JSON would lose them
    def headers_json = Table.json_of(Native.acemq_delivery_headers(pointer))
  end
end
