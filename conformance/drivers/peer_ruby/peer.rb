# frozen_string_literal: true

# A driver for the Ruby peer itself, from its source: its public calls, and the conformance protocol before them.
# Written against the API as its public repository shows it. What the protocol asks for and the API has no call for is
# unsupported.

require "base64"
require "json"
require "acemq/amqp"
require "acemq/amqp/patterns/replay"

# The peer has no such thing.
class NotOffered < StandardError; end

# Bodies as they are.
class Bytes
  def content_type = "application/octet-stream"
  def encode(payload) = payload
  def decode(body, _content_type = nil) = body
end

# Texts to policies of the peer, in seconds, with the threshold that the peer gives beside them.
module Texts
  UNITS = { "ms" => 0.001, "s" => 1, "m" => 60, "h" => 3600, "d" => 86_400 }.freeze

  module_function

  def duration(text)
    found = /\A(\d+)(ms|s|m|h|d)\z/.match(text)
    found ? found[1].to_i * UNITS[found[2]] : 0
  end

  def policy(text)
    return [AceMQ::AMQP::RetryPolicy.none, nil] if text.nil?

    start = /\A(none|fixed|exponential)(?:\(([^)]*)\))?/.match(text)
    made = made(start[1], (start[2] || "").split(",").map(&:strip))
    threshold = nil
    start.post_match.scan(/\.(\w+)\(([^)]*)\)/) do |name, value|
      case name
      when "giveUpAfter" then made = made.give_up_after(duration(value))
      when "jitter" then made = made.with_jitter(value.to_f)
      when "threshold" then threshold = duration(value)
      when "wholeSecondNames" then next
      else raise NotOffered, "the peer's policies have no #{name}"
      end
    end
    [made, threshold]
  end

  def made(kind, given)
    policies = AceMQ::AMQP::RetryPolicy
    return policies.none if kind == "none"
    return policies.fixed(given[0].to_i, duration(given[1])) if kind == "fixed"

    policies.exponential(given[0].to_i, duration(given[1]), duration(given[2]))
  end
end

# The verbs.
class Driver
  VERBS = { "names" => "queue", "connect" => "url timeout", "close" => "", "publish" => "queue exchange routingKey message timeout",
            "consume" => "queue retry codec script until", "pending" => "queue parked",
            "replay" => "queue parked max id" }.freeze
  FIELDS = { "id" => :id, "type" => :type, "version" => :version, "correlation" => :correlation_id,
             "causation" => :causation_id, "origin" => :origin, "headers" => :headers }.freeze

  def serve
    say("hello" => { "protocol" => 1, "name" => "peer_ruby", "version" => AceMQ::AMQP::VERSION, "verbs" => VERBS.keys })
    $stdin.each_line do |line|
      request = JSON.parse(line)
      say({ "id" => request["id"] }.merge(answer(request)))
    end
    close({})
  end

  private

  def say(answer)
    $stdout.puts(JSON.generate(answer))
    $stdout.flush
  end

  def answer(request)
    asked = request["with"] || {}
    only(request["do"], asked)
    { "ok" => send(request["do"], asked) || {} }
  rescue NotOffered => e
    { "unsupported" => e.message }
  rescue StandardError => e
    { "error" => { "name" => e.class.name, "message" => e.message } }
  end

  # Refuses what the peer has nothing for, parameters too.
  def only(verb, asked)
    raise NotOffered, "the peer's driver has nothing for it" unless VERBS.key?(verb)

    unknown = asked.keys - VERBS[verb].split
    raise NotOffered, "the peer's driver has no #{unknown.first} to #{verb}" unless unknown.empty?
    raise NotOffered, "bodies are taken as bytes" unless asked.fetch("codec", "bytes") == "bytes"
  end

  # Not every version of the peer lets a handler park.
  def park_offered(script)
    parks = script.values.flatten.any? { |entry| entry.start_with?("park") }
    raise NotOffered, "a handler of the peer cannot park" if parks && !AceMQ::AMQP::Ack.respond_to?(:park)
  end

  def names(asked)
    naming = AceMQ::AMQP::Naming
    { "deadLetter" => naming.dead_letter_queue(asked["queue"]), "parked" => naming.parked_queue(asked["queue"]) }
  end

  def connect(asked)
    close({})
    @mq = AceMQ::AMQP::Connection.open(asked["url"].sub(%r{(?<=[^/])/\z}, ""), codec: Bytes.new)
    nil
  end

  def close(_asked)
    @mq&.close
    @mq = nil
  end

  def publish(asked)
    message = asked["message"]
    fields = FIELDS.filter_map { |name, field| [field, message[name]] if message.key?(name) }.to_h
    body = message["bodyBase64"] ? Base64.decode64(message["bodyBase64"]) : message["body"].to_s
    sent = @mq.publish(body, to: asked["queue"] || asked["routingKey"], exchange: asked["exchange"] || "", **fields)
    { "id" => sent.id }
  end

  def consume(asked)
    park_offered(asked["script"] || {})
    policy, threshold = Texts.policy(asked["retry"])
    arrived = Thread::Queue.new
    turns = Hash.new(0)
    consumer = @mq.consume(asked["queue"], retry_policy: policy, retry_threshold: threshold) do |message|
      entry = entry_for(asked["script"] || {}, message.id, turns)
      arrived << { "envelope" => envelope(message.envelope), "outcome" => entry }.merge(body(message.body))
      ack_for(*entry.split(": ", 2))
    end
    deliveries = gathered(arrived, asked["until"] || {})
    consumer.cancel
    { "deliveries" => deliveries, "counters" => {} }
  end

  def gathered(arrived, wanted)
    clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) * 1000 }
    deliveries = []
    heard = clock.call
    ends = heard + (wanted["timeout"] || 10_000)
    until deliveries.size == wanted["deliveries"] || clock.call > [ends, heard + (wanted["idle"] || ends)].min
      next sleep(0.005) if arrived.empty?

      deliveries << arrived.pop
      heard = clock.call
    end
    deliveries
  end

  def entry_for(script, id, turns)
    entries = script[id] || script["*"] || ["accept"]
    turns[id] += 1
    entries[[turns[id], entries.size].min - 1]
  end

  def ack_for(verb, why = nil)
    ack = AceMQ::AMQP::Ack
    case verb
    when "accept" then ack.accept
    when "reject" then ack.reject(why)
    when "park" then ack.park(why)
    else ack.retry(why)
    end
  end

  def envelope(read)
    { "id" => read.id, "type" => read.type, "version" => read.version, "correlation" => read.correlation_id,
      "attempt" => read.attempt, "firstSeen" => (read.first_seen.to_r * 1000).round,
      "error" => read.error.empty? ? nil : read.error, "replayCount" => read.headers["acemq-replay-count"] || 0 }
  end

  def body(bytes)
    text = bytes.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? ? { "body" => text } : { "bodyBase64" => Base64.strict_encode64(bytes) }
  end

  def source(asked)
    asked["queue"] + (asked["parked"] ? ".parked" : ".dlq")
  end

  def pending(asked)
    { "pending" => @mq.message_count(source(asked)) }
  end

  def replay(asked)
    done = AceMQ::AMQP::Patterns.replay(@mq, from: source(asked), routing_key: asked["queue"],
                                             limit: asked["max"] || 0) do |read, _body|
      [nil, read.id].include?(asked["id"])
    end
    { "replayed" => done.moved, "declined" => done.skipped, "left" => @mq.message_count(source(asked)) }
  end
end

Driver.new.serve
