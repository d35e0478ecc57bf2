# frozen_string_literal: true

require "bunny"

module Standin
  # A mandatory message that reached no queue.
  class Unroutable < StandardError; end

  # One message as bunny hands it over.
  Delivery = Struct.new(:info, :properties, :body) do
    def key = info.routing_key.to_s
    def tag = info.delivery_tag
    def headers = properties[:headers] || {}
  end

  # What is declared, as plans.
  module Plans
    module_function

    def exchange(name, type = "direct")
      { "kind" => "exchange", "name" => name, "type" => type }
    end

    # A queue without a type in its arguments is classic.
    def queue(name, arguments = {})
      { "kind" => "queue", "name" => name, "type" => arguments["x-queue-type"] || "classic", "arguments" => arguments }
    end

    def binding(queue, exchange, key)
      { "kind" => "binding", "name" => queue, "exchange" => exchange, "routingKey" => key }
    end

    # What a consumer declares: its failure queues always, the retry exchange only with rungs (16.14).
    def consumer(source, policy)
      failures = ["#{source}.dlq", "#{source}.parked"]
      [exchange("acemq.dlx"), *failures.flat_map { |name| [queue(name), binding(name, "acemq.dlx", name)] },
       *ladder(source, policy)]
    end

    def ladder(source, policy)
      rungs = policy.rungs(source)
      return [] if rungs.empty?

      [exchange("acemq.retry"), *rungs.map { |name, wait| queue(name, Policies.rung_arguments(source, wait)) },
       binding(source, "acemq.retry", source)]
    end

    # What a topology declares: exchanges, then queues, then bindings.
    def topology(given)
      steps = (given["exchanges"] || []).map { |each| exchange(each["name"], each["type"]) }
      steps += (given["queues"] || []).flat_map { |each| with_queue(each) }
      steps += (given["bindings"] || []).map { |each| binding(each["queue"], each["exchange"], each["key"] || "") }
      steps.uniq.group_by { |step| step["kind"] }.values_at("exchange", "queue", "binding").compact.flatten(1)
    end

    def with_queue(each)
      name = each["name"]
      arguments = { **(each["arguments"] || {}) }
      type = each["type"] || "quorum"
      arguments["x-queue-type"] = type unless type == "classic"
      policy = Policies.parse(each["retry"])
      return [queue(name, arguments), *ladder(name, policy)] unless each["deadLetter"]

      arguments.merge!("x-dead-letter-exchange" => "acemq.dlx", "x-dead-letter-routing-key" => "#{name}.dlq")
      [queue(name, arguments), *consumer(name, policy)]
    end
  end

  # A connection, with a channel for each purpose.
  class Broker
    attr_reader :session

    def initialize(url, timeout)
      # To bunny a path of / alone is the vhost without a name.
      @session = Bunny.new(url.sub(%r{(?<=[^/])/\z}, ""), connection_timeout: timeout, automatically_recover: false,
                                                          logger: Logger.new(File::NULL))
      @session.start
      @publishing = @session.create_channel
      @publishing.confirm_select
      @returned = Thread::Queue.new
      @default = Bunny::Exchange.new(@publishing, :direct, "", no_declare: true)
      @default.on_return { |info, *| @returned << info.reply_text }
    end

    # Where the client hears nothing more, a polite end would wait for its answers.
    def close
      lost? ? @session.transport.close : @session.close
    end

    # Whether the thread that reads has ended: bunny says nothing of it, and goes on waiting for answers.
    def lost?
      !@session.reader_loop.instance_variable_get(:@thread).alive?
    end

    # Declares a plan, on a channel of its own since a refusal takes the channel with it.
    def declare(plan)
      channel = @session.create_channel
      plan.each { |step| declare_one(channel, step) }
    ensure
      channel.close if channel&.open?
    end

    def declare_one(channel, step)
      case step["kind"]
      when "exchange" then channel.exchange_declare(step["name"], step["type"], durable: true)
      when "queue" then channel.queue_declare(step["name"], durable: true, arguments: step["arguments"])
      else channel.queue_bind(step["name"], step["exchange"], routing_key: step["routingKey"])
      end
    end

    # Publishes and waits for the confirm; only a replay is mandatory here (16.4).
    def publish(exchange, key, body, headers:, message_id:, mandatory: false, persistent: true, **properties)
      @returned.clear
      @publishing.basic_publish(body, exchange, key, headers: headers, message_id: message_id, persistent: persistent,
                                                     mandatory: mandatory, **properties.compact)
      @publishing.wait_for_confirms or raise Unroutable, "#{key}: not confirmed"
      raise Unroutable, "#{key}: #{@returned.pop}" unless @returned.empty?
    end

    # Republishes by name with what this peer keeps: the content type ("" for none) and the id, and no other property;
    # bunny adds a priority of 0. Nothing asks
    # whether there is such a queue (16.7).
    def hop(delivery, queue, envelope)
      publish("", queue, delivery.body, headers: envelope.written(delivery.key), message_id: envelope.id,
                                        content_type: delivery.properties[:content_type].to_s)
    end

    def queue?(name)
      @session.queue_exists?(name)
    end

    def waiting(queue)
      with_channel { |channel| channel.queue_declare(queue, passive: true).message_count }
    end

    # Looks at messages and leaves them.
    def peek(queue, most)
      with_channel do |channel|
        seen = []
        while seen.size < most && (delivery = pull(channel, queue))
          seen << delivery
        end
        seen.each { |delivery| channel.nack(delivery.tag, false, true) }
      end
    end

    # Moves failed messages back; those not wanted are held until the pass is over.
    def replay(queue, source, most, keep, &wanted)
      with_channel do |channel|
        moved = 0
        declined = []
        while moved < most && (delivery = pull(channel, source))
          envelope = Envelope.read(delivery.headers, delivery.key)
          next declined << delivery unless wanted.call(envelope)

          move_back(delivery, envelope, queue, source, keep)
          channel.ack(delivery.tag)
          moved += 1
        end
        declined.each { |delivery| channel.nack(delivery.tag, false, true) }
        [moved, declined.size]
      end
    end

    private

    def with_channel
      channel = @session.create_channel
      yield channel
    ensure
      channel.close if channel&.open?
    end

    def pull(channel, queue)
      info, properties, body = channel.basic_get(queue, manual_ack: true)
      info && Delivery.new(info, properties, body)
    end

    # Publishes one message to where it failed, stamped (16.5, 16.11).
    def move_back(delivery, envelope, queue, source, keep)
      going = keep ? envelope : envelope.but(attempt: 1, error: "")
      count = Envelope.number(envelope.headers["acemq-replay-count"], 0) + 1
      stamps = { "acemq-replayed-from" => source, "acemq-replay-count" => count,
                 "acemq-replayed-at" => Time.now.utc.strftime("%Y-%m-%dT%H:%M:%SZ") }
      publish("", queue, delivery.body, headers: going.written(queue).merge(stamps), message_id: going.id,
                                        mandatory: true, content_type: delivery.properties[:content_type].to_s)
    end
  end
end
