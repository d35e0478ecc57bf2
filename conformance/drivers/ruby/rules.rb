# frozen_string_literal: true

# The verbs that need no broker.
module Rules
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
    headers = AceMQ::Table.parse(JSON.generate(given["headers"] || {}))
    read, own, written = AceMQ::Envelope.parse(headers, routing_key: given["routingKey"], message_id: given["messageId"])
    { envelope: Describe.envelope_json(read), headers: JSON.parse(own.json), written: JSON.parse(written.json(typed: true)) }
  end

  def policy_of(text) = text.nil? ? AceMQ.no_retry : AceMQ::Policy.of(text)

  def policy(given)
    read = policy_of(given["text"])
    { text: read.to_s, maxAttempts: read.attempts, maxAge: read.max_age, threshold: read.threshold, jitter: read.jitter }
  end

  def place_of(policy, queue, delay)
    rung = policy.rung_for(queue, delay)
    { where: rung ? "broker" : "consumer", rung: rung }
  end

  def schedule(given)
    queue = given["queue"] || "orders"
    policy = policy_of(given["policy"])
    waits = (1...policy.attempts).map do |after|
      delay = policy.delay_after(after)
      { afterAttempt: after, delayMs: delay }.merge(place_of(policy, queue, delay))
    end
    { waits: waits, rungs: policy.rung_arguments(queue).map { |name, table| { queue: name, arguments: JSON.parse(table.json) } } }
  end

  def waits(given)
    policy = policy_of(given["policy"])
    { waits: given["attempts"].map { |attempt| policy.delay_after(attempt) } }
  end

  def decide(given) = { retries: policy_of(given["policy"]).retries?(given.fetch("attempt", 1), given["age"]) }

  def place(given) = place_of(policy_of(given["policy"]), given["queue"], given["delay"])

  def jitter(given) = { delay: policy_of(given["policy"]).jittered(given["delay"], given["unit"]) }

  def names(given)
    { deadLetter: AceMQ::Rules.dead_letter_queue(given["queue"]), parked: AceMQ::Rules.parked_queue(given["queue"]) }
  end

  def duration_parse(given) = { milliseconds: AceMQ::Rules.parse_duration(given["text"]) }

  def duration_format(given) = { text: AceMQ::Rules.format_duration(given["milliseconds"]) }

  def time_parse(given) = %i[seconds nanoseconds].zip(AceMQ::Rules.parse_time(given["text"])).to_h

  def time_format(given) = { text: AceMQ::Rules.format_time(given["milliseconds"]) }

  def partition(given)
    key = given["keyBase64"] ? Describe.from_base64(given["keyBase64"]) : given["key"]
    { partition: AceMQ::Rules.partition(key, given["partitions"], given.fetch("rule", "unsigned")) }
  end

  def ordered_queue(given)
    { queue: AceMQ::Ordered.queue_for(given["name"], given["key"], given.fetch("partitions", 8), given.fetch("rule", "unsigned")) }
  end

  def claim_read(given)
    frame, rest = AceMQ::Rules.read_claim_frame(Describe.body_of(given))
    { frame: frame }.merge(Describe.body_json(rest))
  end

  def claim_write(given) = Describe.body_json(AceMQ::Rules.write_claim_frame(given["frame"], Describe.body_of(given)))

  def encrypted_read(given)
    frame = AceMQ::Rules.read_encrypted_frame(Describe.body_of(given))
    parts = frame.reject { |name, _| name == :key_id }
    parts.to_h { |name, bytes| ["#{name}Base64", Describe.to_base64(bytes)] }
         .merge("keyId" => frame[:key_id].force_encoding(Encoding::UTF_8))
  end

  def encrypt(given)
    codec = AceMQ.encrypted({ given["keyId"] => Describe.from_base64(given["keyBase64"]) }, inner: :bytes)
    Describe.body_json(AceMQ::Rules.codec_encode(codec, Describe.body_of(given)))
  end

  def decrypt(given)
    codec = AceMQ.encrypted(given["keys"].transform_values { |key| Describe.from_base64(key) }, inner: :bytes)
    Describe.body_json(AceMQ::Rules.codec_decode(codec, Describe.body_of(given), "application/vnd.acemq.encrypted"))
  end

  def codec_reads(given) = { reads: AceMQ::Rules.codec_reads?(given["codec"], given["contentType"]) }

  def codec_check(given)
    AceMQ::Rules.codec_check(given["codec"] || "bytes", Describe.body_of(given), given["contentType"])
    {}
  end

  def topology_of(given) = AceMQ::Topology.parse(JSON.generate(given["topology"]))

  def objects_of(plan)
    { objects: plan.map do |object|
      { kind: object.kind, name: object.name, type: object.type, arguments: JSON.parse(object.arguments_json),
        exchange: object.exchange, routingKey: object.routing_key }
    end }
  end

  def topology_plan(given) = objects_of(topology_of(given).plan)

  def consumer_plan(given) = objects_of(AceMQ::Topology.new.consumer(given["queue"], given["policy"]).plan)
end
