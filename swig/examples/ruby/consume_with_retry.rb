#!/usr/bin/ruby
# frozen_string_literal: true

# Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
# dead letters, and order 4 is no JSON and is parked without being seen.
#
#   consume_with_retry.rb [URL]     without a URL: a broker inside this program
require "acemq"

QUEUE = "example.retried"

def publish(mq, id, json)
  order = Acemq.message_new(json)
  Acemq.message_set_id(order, id)
  Acemq.message_set_content_type(order, "application/json")
  Acemq.publish(mq, QUEUE, order, 5 * Acemq::SECOND)
end

def prepare(mq, policy)
  topology = Acemq.topology_new
  Acemq.topology_queue(topology, QUEUE, Acemq::QUEUE_QUORUM, true, policy)
  Acemq.topology_apply(mq, topology, 5 * Acemq::SECOND)
  (1..3).each { |number| publish(mq, "order-#{number}", %({"id":#{number}})) }
  publish(mq, "order-4", '{"id":')
end

# What is said of an order is carried out: acknowledged, or tried again as the policy has it.
def handle(order)
  envelope = Acemq.delivery_envelope(order)
  id = Acemq.envelope_id(envelope)
  attempt = Acemq.envelope_attempt(envelope)
  fails = id == "order-3" || (id == "order-2" && attempt < 3)
  puts "#{id}, attempt #{attempt}: #{fails ? "no stock" : "charged"}"
  if fails
    Acemq.delivery_settle(order, Acemq::FAILED, "no stock")
  else
    Acemq.delivery_settle(order, Acemq::ACCEPTED)
  end
end

def consume(mq, policy)
  options = Acemq::ConsumerOptions.new(retry: policy, codec: Acemq.codec_builtin("json"))
  consumer = Acemq.consumer_open(mq, QUEUE, options)
  begin
    loop { handle(Acemq.consumer_next(consumer, 2 * Acemq::SECOND)) }
  rescue Acemq::TimeoutError
    # no more orders
  end
  counters = Acemq.consumer_get_counters(consumer)
  puts "#{counters.acknowledged} succeeded after #{counters.retried} retries, " \
       "#{counters.dead_lettered} among the dead letters, #{counters.parked} parked"
end

mq = Acemq.connect(ARGV.fetch(0, "memory://example"))
policy = Acemq.policy_exponential(3, 100, Acemq::SECOND) # 100 ms, 200 ms
Acemq.policy_jitter(policy, 0) # so that the story is the same each time
prepare(mq, policy)
consume(mq, policy)
Acemq.connection_close(mq, 5 * Acemq::SECOND)
