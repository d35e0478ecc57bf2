# frozen_string_literal: true

# A stand-in for the Ruby peer: what it writes and how it reads, on the client that it is built on.
#
# It knows nothing of libacemq and shares no code with it or with the peer. The rules are in policy.rb, envelope.rb and
# consumer.rb; this file speaks the conformance protocol.

require "json"
require_relative "policy"
require_relative "envelope"
require_relative "values"
require_relative "broker"
require_relative "consumer"

module Standin
  # The verbs, and the connection that some of them need.
  class Driver
    MESSAGE = %w[id type version correlation causation origin contentType headers replyTo transient body bodyBase64].freeze
    FIELDS = %w[id type version correlation causation origin].freeze
    CONSUME = %w[queue retry codec script until prefetch].freeze
    NOT_CONSUME = { "members" => 1, "declare" => "yes", "requeueOnFailure" => false, "idempotency" => nil }.freeze
    VERBS = %w[envelope schedule waits decide place jitter names partition ordered.queue topology.plan consumer.plan
               connect close topology publish consume pending peek replay ordered.publish].freeze

    def serve
      say("hello" => { "protocol" => 1, "name" => "standin_ruby", "version" => "1", "verbs" => VERBS })
      $stdin.each_line do |line|
        request = JSON.parse(line)
        say({ "id" => request["id"] }.merge(answer(request)))
      end
      @broker&.close
    end

    private

    def say(answer)
      $stdout.puts(JSON.generate(answer))
      $stdout.flush
    end

    def answer(request)
      verb = request["do"]
      return { "unsupported" => "the peer, or its stand-in, has nothing for it" } unless VERBS.include?(verb)

      ok = send(:"do_#{verb.tr(".", "_")}", request["with"] || {})
      { "ok" => ok.is_a?(Hash) ? ok : {} }
    rescue NotOffered => e
      { "unsupported" => e.message }
    rescue Unroutable => e
      { "error" => { "name" => "unroutable", "message" => e.message } }
    rescue Bunny::PreconditionFailed => e
      { "error" => { "name" => "differs", "message" => e.message } }
    rescue Bunny::NotFound => e
      { "error" => { "name" => "not_found", "message" => e.message } }
    rescue Bunny::Exception, Timeout::Error, IOError, SystemCallError => e
      { "error" => { "name" => "broker", "message" => "#{e.class}: #{e.message}" } }
    rescue ArgumentError, TypeError, FloatDomainError, RangeError, EncodingError => e
      { "error" => { "name" => e.message.start_with?("reserved") ? "reserved_header" : "invalid_argument", "message" => e.message } }
    end

    # Refuses what the peer has nothing for.
    def only(asked, known)
      extra = asked.keys - known
      raise NotOffered, "the peer has no #{extra.first}" unless extra.empty?
    end

    def do_envelope(asked)
      key = asked["routingKey"] || ""
      read = Envelope.read(Values.from_wire_form(asked["headers"] || {}), key)
      { "envelope" => Values.envelope_for(read), "headers" => Values.to_wire_form(read.headers),
        "written" => read.written(key).transform_values { |value| Values.typed(value) } }
    end

    def placed(policy, queue, wait)
      rung = policy.rung_for(queue, wait)
      { "where" => rung ? "broker" : "consumer", "rung" => rung }
    end

    def do_schedule(asked)
      policy = Policies.parse(asked["policy"])
      queue = asked["queue"] || ""
      waits = (1...policy.attempts).map do |attempt|
        wait = policy.wait_after(attempt)
        { "afterAttempt" => attempt, "delayMs" => Policies.milliseconds(wait) }.merge(placed(policy, queue, wait))
      end
      rungs = policy.rungs(queue).map { |name, wait| { "queue" => name, "arguments" => Policies.rung_arguments(queue, wait) } }
      { "waits" => waits, "rungs" => rungs }
    end

    def do_waits(asked)
      policy = Policies.parse(asked["policy"])
      waits = asked["attempts"].map { |attempt| policy.gives_up?(attempt, 0) ? 0 : policy.wait_after(attempt) }
      { "waits" => waits.map { |wait| Policies.milliseconds(wait) } }
    end

    # An unknown age is that of a message first seen now.
    def do_decide(asked)
      { "retries" => !Policies.parse(asked["policy"]).gives_up?(asked["attempt"], (asked["age"] || 0) / 1000.0) }
    end

    def do_place(asked)
      placed(Policies.parse(asked["policy"]), asked["queue"], asked["delay"] / 1000.0)
    end

    def do_jitter(asked)
      wait = Policies.parse(asked["policy"]).jittered(asked["delay"] / 1000.0, asked["unit"])
      { "delay" => Policies.milliseconds([wait, 0].max) }
    end

    def do_names(asked)
      { "deadLetter" => "#{asked["queue"]}.dlq", "parked" => "#{asked["queue"]}.parked" }
    end

    def partition(asked)
      raise NotOffered, "the peer has only its own rule" unless [nil, "unsigned"].include?(asked["rule"])

      key = asked["keyBase64"] ? Base64.decode64(asked["keyBase64"]) : asked["key"]
      Policies.partition(key, asked["partitions"])
    end

    def do_partition(asked)
      { "partition" => partition(asked) }
    end

    def do_ordered_queue(asked)
      { "queue" => "#{asked["name"]}.#{partition(asked)}" }
    end

    def do_topology_plan(asked)
      { "objects" => topology_of(asked) }
    end

    def do_consumer_plan(asked)
      { "objects" => Plans.consumer(asked["queue"], Policies.parse(asked["policy"])) }
    end

    def topology_of(asked)
      only(asked["topology"], %w[exchanges queues bindings])
      Plans.topology(asked["topology"])
    end

    def broker
      @broker or raise IOError, "not connected"
    end

    def do_connect(asked)
      do_close(asked)
      @broker = Broker.new(asked["url"], (asked["timeout"] || 10_000) / 1000.0)
      nil
    end

    def do_close(_asked)
      @broker&.close
      @broker = nil
    end

    def do_topology(asked)
      broker.declare(topology_of(asked))
      nil
    end

    def do_publish(asked)
      send_message(asked["exchange"] || "", asked["queue"] || asked["routingKey"] || "", asked["message"])
    end

    # Publishes with a fresh envelope and what the request says over it.
    def send_message(exchange, key, message)
      only(message, MESSAGE)
      own = Values.from_wire_form(message["headers"] || {})
      refused = own.keys.find { |name| name.start_with?("x-acemq-") }
      raise ArgumentError, "reserved header: #{refused}" if refused

      told = message.slice(*FIELDS).compact.transform_keys(&:to_sym)
      envelope = Envelope.fresh(**told, headers: own)
      broker.publish(exchange, key, Values.body_of(message),
                     headers: envelope.written(key), message_id: envelope.id, persistent: !message["transient"],
                     content_type: message["contentType"] || "application/json", reply_to: message["replyTo"])
      { "id" => envelope.id }
    end

    def do_consume(asked)
      NOT_CONSUME.each do |name, usual|
        raise NotOffered, "the stand-in has no #{name}" unless asked.fetch(name, usual) == usual
      end
      only(asked, CONSUME + NOT_CONSUME.keys)
      raise NotOffered, "the peer has no such codec" unless Consumer::CODECS.include?(asked["codec"] || "bytes")

      Consumer.new(broker, asked).run
    end

    def failures_of(asked)
      "#{asked["queue"]}.#{asked["parked"] ? "parked" : "dlq"}"
    end

    def do_pending(asked)
      { "pending" => broker.waiting(failures_of(asked)) }
    end

    def do_peek(asked)
      seen = broker.peek(asked["queue"], asked["max"] || 10)
      { "messages" => seen.map { |delivery| Values.message_for(delivery.key, delivery.properties, delivery.body) } }
    end

    def do_replay(asked)
      only(asked, %w[queue parked max keepAttempts id headers])
      source = failures_of(asked)
      headers = asked["headers"] || {}
      keep = asked["keepAttempts"]
      moved, declined = broker.replay(asked["queue"], source, asked["max"] || Float::INFINITY, keep) do |envelope|
        [nil, envelope.id].include?(asked["id"]) && headers.all? { |name, value| envelope.headers[name] == value }
      end
      { "replayed" => moved, "declined" => declined, "left" => broker.waiting(source) }
    end

    def do_ordered_publish(asked)
      send_message("", "#{asked["name"]}.#{partition(asked)}", asked["message"])
    end
  end
end

Standin::Driver.new.serve
