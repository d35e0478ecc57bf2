# frozen_string_literal: true

# The verbs that need a broker: one connection, and the stores in memory.
module Client
  WAIT = 10_000
  LEASE = 300_000
  FAILURES = { "stop" => :stop, "retry" => :retry_in_place, "skip" => :skip }.freeze
  SCRIPTED = "retry codec script until"
  VERBS = {
    "connect" => "url timeout", "close" => "", "topology" => "topology",
    "publish" => "queue exchange routingKey message timeout", "pending" => "queue parked", "peek" => "queue max",
    "replay" => "queue parked max keepAttempts id headers dryRun",
    "consume" => "queue #{SCRIPTED} members prefetch declare requeueOnFailure idempotency",
    "claim" => "store key lease", "claim.confirm" => "store key token", "claim.release" => "store key token",
    "claim.renew" => "store key token lease", "ordered.publish" => "name key partitions rule message timeout",
    "ordered.consume" => "name partitions failure #{SCRIPTED}",
    "outbox.enqueue" => "store queue exchange routingKey message", "outbox.relay" => "store"
  }.freeze

  # What the handler does with each message, and until when.
  class Script
    attr_reader :deliveries

    def initialize(given)
      limits = given["until"] || {}
      @entries = given["script"] || {}
      @seen = Hash.new(0)
      @deliveries = []
      @most = limits.fetch("deliveries", 1 << 60)
      @idle = limits.fetch("idle", 1 << 60)
      @ends = now + limits.fetch("timeout", WAIT)
    end

    def follow(consumer)
      while @deliveries.length < @most
        wait = [@ends - now, @idle].min
        break unless wait.positive? && (message = consumer.pull(timeout: wait / 1000.0))

        handle(message)
      end
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

    def entry_for(id)
      entries = @entries[id] || @entries["*"] || ["accept"]
      @seen[id] += 1
      entries[[@seen[id], entries.length].min - 1] || "accept"
    end

    def handle(message)
      entry = entry_for(message.id)
      @deliveries << Describe.message_json(message).merge(outcome: entry, routingKey: message.routing_key,
                                                          redelivered: message.redelivered?, queue: message.queue)
      verb, reason = entry.split(": ", 2)
      verb == "accept" ? message.accept : message.public_send(verb, reason)
    end
  end

  module_function

  def client = @connection || raise(AceMQ::StateError, "connect first")

  def seconds(milliseconds) = milliseconds / 1000.0

  def close(_given)
    @connection&.close(timeout: 5)
    @connection = nil
    @stores&.each_value(&:close)
    @stores = {}
  end

  def connect(given)
    close(given)
    @connection = AceMQ.connect(given["url"], timeout: seconds(given.fetch("timeout", WAIT)))
    {}
  end

  def topology(given)
    client.declare(Rules.topology_of(given))
    {}
  end

  def publish(given)
    wanted = given["message"] || {}
    options = Describe.options_of(wanted).merge(timeout: seconds(given.fetch("timeout", WAIT)))
    if given["queue"]
      client.publish(given["queue"], Describe.body_of(wanted), **options)
    else
      client.publish_to(given["exchange"] || "", given["routingKey"], Describe.body_of(wanted), **options)
    end
    { id: wanted["id"] }
  end

  def source_of(given) = given["parked"] ? :parked : :dead_letters

  def pending(given) = { pending: client.pending(given["queue"], source: source_of(given)) }

  def peek(given)
    messages = client.browse(given["queue"], force: true).lazy.map { |message| Describe.message_json(message) }
    { messages: messages.first(given.fetch("max", 10)) }
  end

  def replay(given)
    wanted = given["headers"] || {}
    options = { source: source_of(given), id: given["id"], max: given["max"], keep_attempts: given["keepAttempts"],
                dry_run: given["dryRun"] }
    filter = ->(message) { wanted.all? { |name, text| message.headers[name] == text } }
    result = client.replay(given["queue"], **options, &(filter unless wanted.empty?))
    { replayed: result.replayed, declined: result.declined, left: result.left }
  end

  def store_of(where)
    raise AceMQ::InvalidArgument, "store is missing" unless where.is_a?(String)

    @stores ||= {}
    @stores[where] ||= AceMQ::Idempotency.new(where.start_with?("memory:") ? "memory:" : where)
  end

  def claim(given)
    claim = store_of(given["store"]).claim(given["key"], lease: seconds(given.fetch("lease", LEASE)))
    { answer: claim.answer, token: claim.token }
  end

  def claim_confirm(given)
    store_of(given["store"]).confirm(given["key"], given["token"])
    {}
  end

  def claim_release(given)
    store_of(given["store"]).release(given["key"], given["token"])
    {}
  end

  def claim_renew(given)
    store_of(given["store"]).renew(given["key"], given["token"], seconds(given.fetch("lease", LEASE)))
    {}
  end

  def consumer_options(given)
    options = { retry: given["retry"], codec: (given["codec"] || "bytes").to_sym, prefetch: given["prefetch"],
                declare: given["declare"], requeue_on_failure: given["requeueOnFailure"] }
    claims = given["idempotency"] or return options
    options.merge(idempotency: store_of(claims["store"]), lease: claims["lease"] && seconds(claims["lease"]),
                  put_back_wait: claims["putBackWait"] && seconds(claims["putBackWait"]))
  end

  # What is in hand is settled; the counters say what was done.
  def finish(consumer)
    consumer.drain(timeout: 10)
    yield
  ensure
    consumer.close
  end

  def consume(given)
    script = Script.new(given)
    members = given.fetch("members", 1)
    options = consumer_options(given)
    consumer = members == 1 ? client.consume(given["queue"], **options) : client.group(given["queue"], members: members, **options)
    script.follow(consumer)
    counted = finish(consumer) { consumer.counters }
    names = { acknowledged: :acknowledged, rejected: :rejected, retried: :retried, deadLettered: :dead_lettered,
              parked: :parked, duplicates: :duplicates }
    { deliveries: script.deliveries, counters: names.transform_values { |name| counted[name] } }
  end

  def ordered_publish(given)
    wanted = given["message"] || {}
    options = Describe.options_of(wanted).merge(timeout: seconds(given.fetch("timeout", WAIT)))
    client.publish_ordered(given["name"], given["key"], Describe.body_of(wanted), partitions: given.fetch("partitions", 8),
                                                                                  rule: given.fetch("rule", "unsigned"), **options)
    { id: wanted["id"] }
  end

  def ordered_consume(given)
    partitions = given.fetch("partitions", 8)
    script = Script.new(given)
    ordered = client.ordered(given["name"], partitions: partitions, failure: FAILURES.fetch(given["failure"] || "stop"),
                                            **consumer_options(given))
    script.follow(ordered)
    finish(ordered) do
      gaps = ordered.gaps.map { |gap| { partition: gap.partition, id: gap.id, reason: gap.reason, parked: gap.parked } }
      { deliveries: script.deliveries, gaps: gaps, halted: (0...partitions).select { |index| ordered.halted(index) } }
    end
  end

  def outbox_enqueue(given)
    wanted = given["message"] || {}
    outbox = AceMQ::Outbox.new(given["store"])
    exchange = given["queue"] ? "" : given["exchange"] || ""
    id = outbox.enqueue(given["queue"] || given["routingKey"], Describe.body_of(wanted), exchange: exchange,
                                                                                         **Describe.options_of(wanted))
    { id: id }
  end

  def outbox_relay(given)
    client.relay(AceMQ::Outbox.new(given["store"])) { |relay| { published: relay.drain(timeout: 10).count.published } }
  end
end
