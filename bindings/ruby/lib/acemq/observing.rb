# frozen_string_literal: true

module AceMQ
  module Native
    %i[queue exchange routing_key id type correlation outcome traceparent tracestate].each do |name|
      quick :"acemq_settlement_#{name}", [:pointer], :string
    end
    quick :acemq_settlement_attempt, [:pointer], :int32
    quick :acemq_settlement_microseconds, [:pointer], :int64
    quick :acemq_observation_name, [:pointer], :string
    quick :acemq_observation_kind, [:pointer], :int
    quick :acemq_observation_value, [:pointer], :double
    quick :acemq_observation_label_count, [:pointer], :size_t
    quick :acemq_observation_label, %i[pointer size_t], :string
    quick :acemq_observation_label_value, %i[pointer size_t], :string
    quick :acemq_metrics_new, %i[pointer pointer pointer], :int
    quick :acemq_metrics_free, [:pointer], :void
    quick :acemq_metrics_watch, %i[pointer pointer pointer], :int
    quick :acemq_metrics_prometheus, %i[pointer pointer pointer], :int
  end

  # What became of a delivery; +seconds+ is how long its receiver had it, +outcome+ one of "acked", "retried",
  # "dead_lettered", "rejected", "parked", "in_progress", "put_back", "lost".
  Settlement = Struct.new(:queue, :exchange, :routing_key, :id, :type, :correlation, :outcome, :traceparent, :tracestate,
                          :attempt, :seconds) do
    # @api private
    # calls: acemq_settlement_queue acemq_settlement_exchange acemq_settlement_routing_key acemq_settlement_id
    # calls: acemq_settlement_type acemq_settlement_correlation acemq_settlement_outcome acemq_settlement_traceparent
    # calls: acemq_settlement_tracestate
    def self.read(pointer)
      texts = members.first(9).map { |name| Native.text(Native.public_send(:"acemq_settlement_#{name}", pointer)) }
      new(*texts, Native.acemq_settlement_attempt(pointer), Native.acemq_settlement_microseconds(pointer) / 1e6)
    end
  end

  # Something that was counted or timed.
  # @!attribute name [String] such as "acemq.consume.total"
  # @!attribute kind [Symbol] :counter, :gauge, :duration (seconds) or :distribution
  Observation = Struct.new(:name, :kind, :value, :labels) do
    # @api private
    def self.read(pointer)
      labels = Array.new(Native.acemq_observation_label_count(pointer)) do |index|
        [Native.text(Native.acemq_observation_label(pointer, index)),
         Native.text(Native.acemq_observation_label_value(pointer, index))]
      end
      kind = { 1 => :counter, 2 => :gauge, 3 => :duration, 4 => :distribution }.fetch(Native.acemq_observation_kind(pointer))
      new(Native.text(Native.acemq_observation_name(pointer)), kind, Native.acemq_observation_value(pointer), labels.to_h)
    end
  end

  # Counts and times what happens on the connections it watches, for Prometheus. Any thread.
  class Metrics
    def initialize
      @handle = Handle.new(Native.made { |out, error| Native.acemq_metrics_new(nil, out, error) }, :acemq_metrics_free)
    end

    # Counts what happens on this connection from now on: call it right after connecting.
    # @return [self]
    def watch(connection)
      Native.check { |error| Native.acemq_metrics_watch(@handle.pointer, connection.pointer, error) }
      self
    end

    # @return [String] everything, in Prometheus' text format
    def prometheus
      Native.take_text(Native.made { |out, error| Native.acemq_metrics_prometheus(@handle.pointer, out, error) })
    end
  end

  # Whether a client works.
  # @!attribute status [Symbol] :up, :degraded or :down
  # @!attribute details [Hash] what is behind it
  Health = Struct.new(:status, :details) do
    def up? = status == :up
  end

  # Whether it works.
  class Connection
    # Answers at once, whatever the connection is at.
    # @return [Health]
    def health
      status = FFI::MemoryPointer.new(:int)
      json = Native.made { |out, error| Native.acemq_health_check(pointer, status, out, error) }
      Health.new({ 1 => :up, 2 => :degraded, 3 => :down }.fetch(status.read_int), JSON.parse(Native.take_text(json)))
    end
  end
end
