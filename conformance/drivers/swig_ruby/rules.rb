# frozen_string_literal: true

# The verbs that need no broker.
module Rules
  FRAMES = %w[none inline stored].freeze
  KINDS = ["", "exchange", "queue", "binding"].freeze
  VERBS = {
    "envelope" => "headers routingKey messageId", "policy" => "text", "schedule" => "policy queue",
    "waits" => "policy attempts", "decide" => "policy attempt age", "place" => "policy queue delay",
    "jitter" => "policy delay unit", "names" => "queue", "duration.parse" => "text",
    "duration.format" => "milliseconds", "time.parse" => "text", "time.format" => "milliseconds",
    "partition" => "key keyBase64 partitions rule", "ordered.queue" => "name key partitions rule",
    "claim.read" => "body bodyBase64", "claim.write" => "frame body bodyBase64",
    "encrypted.read" => "body bodyBase64", "encrypt" => "keyId keyBase64 body bodyBase64",
    "decrypt" => "keys body bodyBase64", "codec.reads" => "codec contentType",
    "codec.check" => "codec body bodyBase64 contentType", "topology.plan" => "topology", "consumer.plan" => "queue policy"
  }.freeze

  module_function

  def envelope(given)
    headers = Protocol.table_of(given["headers"])
    read = Acemq.envelope_read(headers, given["routingKey"], given["messageId"])
    written = Acemq.table_copy(headers)
    Acemq.envelope_write(read, written)
    { envelope: Protocol.envelope_json(read),
      headers: Protocol.table_json(Acemq.envelope_application_headers(headers)),
      written: Protocol.table_json(written, 1) }
  end

  def policy(given)
    read = Acemq.policy_parse(given["text"])
    { text: Acemq.policy_format(read), maxAttempts: Acemq.policy_max_attempts(read), maxAge: Acemq.policy_max_age(read),
      threshold: Acemq.policy_broker_threshold(read), jitter: Acemq.policy_jitter_factor(read) }
  end

  def place_of(policy, queue, delay)
    return { where: "consumer", rung: nil } if Acemq.policy_waits_in_broker(policy, delay).zero?

    { where: "broker", rung: Acemq.policy_rung_name(policy, queue, Acemq.policy_choose_rung(policy, delay)) }
  end

  def schedule(given)
    queue = given["queue"] || "orders"
    policy = Protocol.policy_of(given, "policy")
    waits = (1...Acemq.policy_max_attempts(policy)).map do |after|
      delay = Acemq.policy_wait(policy, after)
      { afterAttempt: after, delayMs: delay }.merge(place_of(policy, queue, delay))
    end
    rungs = Array.new(Acemq.policy_rung_count(policy)) do |index|
      delay = Acemq.policy_rung_delay(policy, index)
      { queue: Acemq.policy_rung_name(policy, queue, delay),
        arguments: Protocol.table_json(Acemq.policy_rung_arguments(policy, queue, delay)) }
    end
    { waits: waits, rungs: rungs }
  end

  def waits(given)
    policy = Protocol.policy_of(given, "policy")
    { waits: given["attempts"].map { |attempt| Acemq.policy_wait(policy, attempt) } }
  end

  def decide(given)
    { retries: Acemq.policy_retries(Protocol.policy_of(given, "policy"), given["attempt"], given["age"] || -1) == 1 }
  end

  def place(given) = place_of(Protocol.policy_of(given, "policy"), given["queue"], given["delay"])

  def jitter(given)
    { delay: Acemq.policy_jittered(Protocol.policy_of(given, "policy"), given["delay"], given["unit"]) }
  end

  def names(given)
    { deadLetter: Acemq.dead_letter_queue(given["queue"]), parked: Acemq.parked_queue(given["queue"]) }
  end

  def duration_parse(given) = { milliseconds: Acemq.duration_parse(given["text"]) }

  def duration_format(given) = { text: Acemq.duration_format(given["milliseconds"]) }

  def time_parse(given)
    seconds, nanoseconds = Acemq.time_parse(given["text"])
    { seconds: seconds, nanoseconds: nanoseconds }
  end

  def time_format(given) = { text: Acemq.time_format(given["milliseconds"]) }

  def rule_of(given)
    rule = given["rule"] ? Acemq.partition_rule_named(given["rule"]) : Acemq::PARTITION_UNSIGNED
    raise Protocol::Unsupported, "no such rule" if rule.negative?

    rule
  end

  def key_of(given) = given["keyBase64"] ? Base64.strict_decode64(given["keyBase64"]) : given["key"] || ""

  def partition(given)
    number = Acemq.partition(key_of(given), given.fetch("partitions", 8), rule_of(given))
    Protocol.refuse("invalid_argument", "partitions is out of range") if number.negative?
    { partition: number }
  end

  def partitioning_of(given)
    Acemq::Partitioning.new(partitions: given.fetch("partitions", 8), rule: rule_of(given))
  end

  def ordered_queue(given)
    { queue: Acemq.ordered_queue(given["name"], partitioning_of(given), key_of(given), nil) }
  end

  def claim_read(given)
    frame, rest = Acemq.claim_frame_read(Protocol.body_of(given))
    { frame: FRAMES[frame] }.merge(Protocol.body_json(rest))
  end

  def claim_write(given)
    Protocol.body_json(Acemq.claim_frame_write(FRAMES.index(given["frame"]), Protocol.body_of(given)))
  end

  def encrypted_read(given)
    frame = Acemq.encrypted_frame_read(Protocol.body_of(given))
    { keyId: frame.key_id.force_encoding("UTF-8"), authenticatedBase64: Base64.strict_encode64(frame.authenticated),
      nonceBase64: Base64.strict_encode64(frame.nonce), ciphertextBase64: Base64.strict_encode64(frame.ciphertext),
      tagBase64: Base64.strict_encode64(frame.tag) }
  end

  def encrypting(keys)
    ring = Acemq.keyring_new
    keys.each { |id, key| Acemq.keyring_add(ring, id, Base64.strict_decode64(key)) }
    Acemq.codec_encrypted(ring, Acemq.codec_builtin("bytes"))
  end

  def encrypt(given)
    codec = encrypting({ given["keyId"] => given["keyBase64"] })
    Protocol.body_json(Acemq.codec_encode(codec, Protocol.body_of(given)))
  end

  def decrypt(given)
    codec = encrypting(given["keys"])
    Protocol.body_json(Acemq.codec_decode(codec, Protocol.body_of(given), Acemq.codec_content_type(codec)))
  end

  def codec_reads(given) = { reads: Acemq.codec_reads(given["codec"], given["contentType"]) == 1 }

  def codec_check(given)
    codec = Acemq.codec_builtin(given["codec"] || "bytes")
    raise Protocol::Unsupported, "no such codec" unless codec

    Acemq.codec_check(codec, Protocol.body_of(given), given["contentType"])
    {}
  end

  def objects(topology)
    plan = Acemq.topology_plan(topology)
    listed = Array.new(Acemq.plan_count(plan)) do |index|
      { kind: KINDS[Acemq.plan_get_kind(plan, index)], name: Acemq.plan_name(plan, index),
        type: Acemq.plan_type(plan, index), arguments: Protocol.table_json(Acemq.plan_arguments(plan, index)),
        exchange: Acemq.plan_exchange(plan, index), routingKey: Acemq.plan_routing_key(plan, index) }
    end
    { objects: listed }
  end

  def topology_of(given) = Acemq.topology_parse(JSON.generate(given["topology"]))

  def topology_plan(given) = objects(topology_of(given))

  def consumer_plan(given)
    topology = Acemq.topology_new
    Acemq.topology_consumer(topology, given["queue"], Protocol.policy_of(given, "policy"))
    objects(topology)
  end
end
