# frozen_string_literal: true

# The verbs that need a broker: one connection, and the stores in memory.
module Client
  WAIT = 10 * Acemq::SECOND
  LEASE = 5 * Acemq::MINUTE
  OUTCOMES = { "a" => Acemq::ACCEPTED, "f" => Acemq::FAILED, "r" => Acemq::REJECTED, "p" => Acemq::PARKED }.freeze
  FAILURES = { "retry" => Acemq::ORDER_RETRY_IN_PLACE, "skip" => Acemq::ORDER_SKIP }.freeze
  ANSWERS = ["", "claimed", "duplicate", "in_progress"].freeze
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
      @ends = now + limits.fetch("timeout", 10_000)
    end

    def follow
      while @deliveries.length < @most
        wait = [@ends - now, @idle].min
        break unless wait.positive?

        handle(yield(wait))
      end
    rescue Acemq::TimeoutError
      # nothing more comes
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

    def entry_for(id)
      entries = @entries[id] || @entries["*"] || ["accept"]
      @seen[id] += 1
      entries[[@seen[id], entries.length].min - 1] || "accept"
    end

    def handle(delivery)
      listed = Protocol.delivery_json(delivery)
      entry = entry_for(listed[:envelope]["id"])
      @deliveries << listed.merge(outcome: entry, routingKey: Acemq.delivery_routing_key(delivery),
                                  redelivered: Acemq.delivery_redelivered(delivery) == 1,
                                  queue: Acemq.delivery_queue(delivery))
      Acemq.delivery_settle(delivery, OUTCOMES.fetch(entry[0]), entry.split(": ", 2)[1])
    end
  end

  module_function

  def client = @connection || Protocol.refuse("state", "connect first")

  def close(_given)
    begin
      Acemq.connection_close(@connection, 5 * Acemq::SECOND) if @connection
    rescue Acemq::Error
      # it is closed all the same
    end
    @connection = nil
    @stores = {}
  end

  def connect(given)
    close(given)
    options = Acemq::ConnectOptions.new(timeout: given.fetch("timeout", WAIT))
    @connection = Acemq.connect(given["url"], options)
    {}
  end

  def topology(given)
    Acemq.topology_apply(client, Rules.topology_of(given), WAIT)
    {}
  end

  def publish(given)
    message = Protocol.message_of(given)
    timeout = given.fetch("timeout", WAIT)
    if given["queue"]
      Acemq.publish(client, given["queue"], message, timeout)
    else
      Acemq.publish_to(client, given["exchange"] || "", given["routingKey"], message, timeout)
    end
    { id: Acemq.message_id(message) }
  end

  def source_of(given) = given["parked"] ? Acemq::PARKED_LETTERS : Acemq::DEAD_LETTERS

  def pending(given) = { pending: Acemq.replay_pending(client, given["queue"], source_of(given), WAIT) }

  def browse(browser, most)
    messages = []
    while messages.length < most && (delivery = Acemq.browser_next(browser))
      messages << Protocol.delivery_json(delivery)
      Acemq.delivery_free(delivery)
    end
    messages
  end

  def peek(given)
    browser = Acemq.browser_open(client, given["queue"], Acemq::BrowserOptions.new(force: 1))
    messages = browse(browser, given.fetch("max", 10))
    Acemq.browser_free(browser)
    { messages: messages }
  end

  def replay(given)
    wanted = given["headers"] || {}
    has_headers = lambda do |delivery|
      headers = Acemq.delivery_headers(delivery)
      wanted.all? { |name, text| Acemq.value_bytes(Acemq.table_get(headers, name)) == text.b }
    end
    options = Acemq::ReplayOptions.new(id: given["id"], max: given["max"] || -1, source: source_of(given),
                                       keep_attempts: given["keepAttempts"] == true, dry_run: given["dryRun"] == true,
                                       filter: wanted.empty? ? nil : has_headers)
    result = Acemq.replay(client, given["queue"], options)
    { replayed: result.replayed, declined: result.declined, left: result.left }
  end

  def store_of(where)
    @stores ||= {}
    @stores[where] ||= Acemq.idempotency_open(where.start_with?("memory:") ? "memory:" : where)
  end

  def claim(given)
    token, answer = Acemq.idempotency_claim(store_of(given["store"]), given["key"], given.fetch("lease", LEASE), WAIT)
    { answer: ANSWERS[answer], token: token }
  end

  def claim_confirm(given)
    Acemq.idempotency_confirm(store_of(given["store"]), given["key"], given["token"], WAIT)
    {}
  end

  def claim_release(given)
    Acemq.idempotency_release(store_of(given["store"]), given["key"], given["token"], WAIT)
    {}
  end

  def claim_renew(given)
    lease = given.fetch("lease", LEASE)
    Acemq.idempotency_renew(store_of(given["store"]), given["key"], given["token"], lease, WAIT)
    {}
  end

  def consumer_options(given)
    codec = Acemq.codec_builtin(given["codec"] || "bytes")
    raise Protocol::Unsupported, "no such codec" unless codec

    options = Acemq::ConsumerOptions.new(retry: Protocol.policy_of(given, "retry"), codec: codec,
                                         declare: given["declare"] == "verify",
                                         requeue_on_failure: given["requeueOnFailure"] == true)
    options.prefetch = given["prefetch"] if given["prefetch"]
    claims = given["idempotency"] or return options
    options.idempotency = store_of(claims["store"])
    options.lease = claims["lease"] if claims["lease"]
    options.put_back_wait = claims["putBackWait"] if claims["putBackWait"]
    options
  end

  # What is left comes again, and the counters say what was done.
  def drain(kind, consumer)
    Acemq.public_send("#{kind}_drain", consumer, WAIT)
  rescue Acemq::Error
    nil
  end

  def consume(given)
    script = Script.new(given)
    members = given.fetch("members", 1)
    kind, options = "consumer", consumer_options(given)
    kind, options = "group", Acemq::GroupOptions.new(consumer: options, members: members) if members != 1
    consumer = Acemq.public_send("#{kind}_open", client, given["queue"], options)
    script.follow { |wait| Acemq.public_send("#{kind}_next", consumer, wait) }
    drain(kind, consumer)
    counted = Acemq.public_send("#{kind}_get_counters", consumer)
    Acemq.public_send("#{kind}_free", consumer)
    { deliveries: script.deliveries,
      counters: { acknowledged: counted.acknowledged, rejected: counted.rejected, retried: counted.retried,
                  deadLettered: counted.dead_lettered, parked: counted.parked, duplicates: counted.duplicates } }
  end

  def ordered_publish(given)
    message = Protocol.message_of(given)
    Acemq.ordered_publish(client, given["name"], Rules.partitioning_of(given), Rules.key_of(given), message,
                          given.fetch("timeout", WAIT))
    { id: Acemq.message_id(message) }
  end

  def gaps_json(ordered)
    gaps = Acemq.ordered_get_gaps(ordered)
    Array.new(Acemq.gaps_count(gaps)) do |index|
      { partition: Acemq.gaps_partition(gaps, index), id: Acemq.gaps_id(gaps, index),
        reason: Acemq.gaps_reason(gaps, index), parked: Acemq.gaps_parked(gaps, index) == 1 }
    end
  end

  def ordered_consume(given)
    partitions = given.fetch("partitions", 8)
    script = Script.new(given)
    options = Acemq::OrderedOptions.new(consumer: consumer_options(given), partitions: partitions,
                                        failure: FAILURES.fetch(given["failure"], Acemq::ORDER_STOP))
    ordered = Acemq.ordered_open(client, given["name"], options)
    script.follow { |wait| Acemq.ordered_next(ordered, wait) }
    drain("ordered", ordered)
    halted = (0...partitions).select { |index| Acemq.ordered_halted(ordered, index)[0] == 1 }
    listed = gaps_json(ordered)
    Acemq.ordered_free(ordered)
    { deliveries: script.deliveries, gaps: listed, halted: halted }
  end

  def outbox_enqueue(given)
    outbox = Acemq.outbox_open(given["store"])
    exchange = given["queue"] ? "" : given["exchange"] || ""
    key = given["queue"] || given["routingKey"]
    { id: Acemq.outbox_enqueue(outbox, exchange, key, Protocol.message_of(given), WAIT) }
  end

  def outbox_relay(given)
    relay = Acemq.relay_start(client, Acemq.outbox_open(given["store"]))
    Acemq.relay_drain(relay, WAIT)
    published = Acemq.relay_count(relay).published
    Acemq.relay_stop(relay, WAIT)
    { published: published }
  end
end
