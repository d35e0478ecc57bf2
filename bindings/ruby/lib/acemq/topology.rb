# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_topology_new, [], :pointer
    quick :acemq_topology_parse, %i[pointer size_t pointer pointer], :int
    quick :acemq_topology_free, [:pointer], :void
    quick :acemq_topology_exchange, %i[pointer string string], :void
    quick :acemq_topology_queue, %i[pointer string int int pointer pointer], :void
    quick :acemq_topology_bind, %i[pointer string string string], :void
    quick :acemq_topology_partitioned, %i[pointer string int64], :void
    quick :acemq_topology_partitioned_shared, %i[pointer string int64], :void
    quick :acemq_topology_consumer, %i[pointer string pointer], :void
    quick :acemq_topology_validate, %i[pointer pointer], :int
    quick :acemq_topology_plan, %i[pointer pointer pointer], :int
    waits :acemq_topology_dry_run, %i[pointer pointer int64 pointer pointer], :int
    waits :acemq_topology_apply, %i[pointer pointer int64 pointer pointer], :int
    quick :acemq_plan_count, [:pointer], :size_t
    quick :acemq_plan_has_drift, [:pointer], :int
    quick :acemq_plan_get_kind, %i[pointer size_t], :int
    quick :acemq_plan_get_state, %i[pointer size_t], :int
    %i[name type exchange routing_key differing ours theirs].each do |name|
      quick :"acemq_plan_#{name}", %i[pointer size_t], :string
    end
    quick :acemq_plan_arguments, %i[pointer size_t], :pointer
    quick :acemq_plan_free, [:pointer], :void
  end

  # Exchanges, queues and bindings to be declared. A builder: each method returns the topology.
  class Topology
    TYPES = { quorum: 0, classic: 1, stream: 2 }.freeze

    # Reads the JSON of `acemq topology`.
    # @return [Topology]
    def self.parse(json)
      new(Native.made { |out, error| Native.acemq_topology_parse(json, json.bytesize, out, error) })
    end

    def initialize(pointer = Native.acemq_topology_new)
      raise OutOfMemory if pointer.null?

      @handle = Handle.new(pointer, :acemq_topology_free)
    end

    # @api private
    def pointer = @handle.pointer

    # A durable exchange.
    # @param type [Symbol, String] direct, topic, fanout or headers
    def exchange(name, type = :direct)
      Native.acemq_topology_exchange(pointer, name, type.to_s)
      self
    end

    # A durable queue.
    # @param type [Symbol] :quorum, :classic or :stream
    # @param dead_letter [Boolean] the broker dead-letters to its failure queue, which is declared with it
    # @param retry [Policy, String, nil] whose rungs are declared with it
    # @param arguments [Hash, nil] further arguments
    def queue(name, type: :quorum, dead_letter: true, arguments: nil, **options)
      policy = Policy.of(options.delete(:retry))
      raise InvalidArgument.new("a queue has no option #{options.keys.first}", field: "queue") unless options.empty?

      number = TYPES.fetch(type.to_sym) do
        raise InvalidArgument.new("type #{type} is none of #{TYPES.keys.join(', ')}", field: "type")
      end
      Headers.with(arguments) do |table|
        Native.acemq_topology_queue(pointer, name, number, dead_letter ? 1 : 0, policy&.pointer, table)
      end
      self
    end

    # Binds a queue to an exchange.
    def bind(exchange, queue, routing_key)
      Native.acemq_topology_bind(pointer, exchange, queue, routing_key)
      self
    end

    # The partition queues of ordered consuming, name.0 and so on.
    # @param shared [Boolean] without x-single-active-consumer, as the other libraries declare them
    def partitioned(name, partitions = 8, shared: false)
      function = shared ? :acemq_topology_partitioned_shared : :acemq_topology_partitioned
      Native.public_send(function, pointer, name, partitions)
      self
    end

    # What a consumer of the queue declares.
    def consumer(queue, policy = nil)
      Native.acemq_topology_consumer(pointer, queue, Policy.of(policy)&.pointer)
      self
    end

    # @raise [Error] what is wrong, by name
    # @return [self]
    def validate
      Native.check { |error| Native.acemq_topology_validate(pointer, error) }
      self
    end

    # @return [Plan] what would be declared, in its order
    def plan = Plan.take(Native.made { |out, error| Native.acemq_topology_plan(pointer, out, error) })
  end

  # An object of a topology.
  # @!attribute kind [Symbol] :exchange, :queue or :binding
  # @!attribute state [Symbol] :unknown, :create, :present or :differs
  # @!attribute differing [String] where it differs; "" when it does not
  Planned = Struct.new(:kind, :state, :name, :type, :exchange, :routing_key, :arguments, :differing, :ours, :theirs,
                       :arguments_json)

  # The objects of a topology in the order in which they are declared, and how the broker has them.
  class Plan
    include Enumerable

    KINDS = { 1 => :exchange, 2 => :queue, 3 => :binding }.freeze
    STATES = { 0 => :unknown, 1 => :create, 2 => :present, 3 => :differs }.freeze

    # @api private
    def self.take(pointer)
      new(pointer)
    ensure
      Native.acemq_plan_free(pointer)
    end

    # @return [Array<Planned>]
    attr_reader :objects

    # @api private
    def initialize(pointer)
      @drift = Native.acemq_plan_has_drift(pointer) == 1
      @objects = Array.new(Native.acemq_plan_count(pointer)) { |index| read(pointer, index) }
    end

    # @return [Boolean] whether an object is missing or differs
    def drift? = @drift

    def each(&block) = @objects.each(&block)

    private

    def read(pointer, index)
      texts = %i[name type exchange routing_key].map { |name| text(pointer, index, name) }
      differences = %i[differing ours theirs].map { |name| text(pointer, index, name) }
      table = Native.acemq_plan_arguments(pointer, index)
      Planned.new(KINDS[Native.acemq_plan_get_kind(pointer, index)], STATES[Native.acemq_plan_get_state(pointer, index)],
                  *texts, Headers.read(table), *differences, table.null? ? "{}" : Table.json_of(table))
    end

    # calls: acemq_plan_name acemq_plan_type acemq_plan_exchange acemq_plan_routing_key acemq_plan_differing acemq_plan_ours
    # calls: acemq_plan_theirs
    def text(pointer, index, name) = Native.text(Native.public_send(:"acemq_plan_#{name}", pointer, index))
  end

  # Declaring, and asking what is declared.
  class Connection
    # Declares queues by their names, a topology, or what the block builds. Declaring again is fine.
    # @example
    #   mq.declare("orders", retry: "fixed(3, 10s)")
    #   mq.declare { |topology| topology.exchange("events", :topic).queue("orders").bind("events", "orders", "order.#") }
    # @param what [Array<String>, Topology] names of queues, or one topology
    # @param options of the queues that are named; see {Topology#queue}
    # @return [Plan] what was made and what was there
    # @raise [Differs] the broker has something otherwise; the rest is declared all the same
    def declare(*what, timeout: 30, **options, &block)
      planned(:acemq_topology_apply, built(what, options, block), timeout)
    end

    # Compares with the broker and changes nothing. Arguments as of {#declare}.
    # @return [Plan]
    def dry_run(*what, timeout: 30, **options, &block)
      planned(:acemq_topology_dry_run, built(what, options, block), timeout)
    end

    private

    def name_of(queue)
      return queue.to_s if queue.is_a?(String) || queue.is_a?(Symbol)

      raise InvalidArgument.new("queue is a #{queue.class}, and no name or AceMQ::Topology", field: "queue")
    end

    def built(what, options, block)
      topology = what.first.is_a?(Topology) ? what.shift : Topology.new
      if what.empty? && options.any?
        raise InvalidArgument.new("#{options.keys.first} is an option of queues that are named", field: options.keys.first.to_s)
      end

      what.each { |queue| topology.queue(name_of(queue), **options) }
      block&.call(topology)
      topology
    end

    def planned(function, topology, timeout)
      wait = Durations.milliseconds(timeout)
      Waiting.call do
        out = FFI::MemoryPointer.new(:pointer)
        begin
          Native.check { |error| Native.public_send(function, pointer, topology.pointer, wait, out, error) }
        rescue StandardError
          Native.acemq_plan_free(out.read_pointer)
          raise
        end
        Plan.take(out.read_pointer)
      end
    end
  end
end
