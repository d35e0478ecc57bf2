#!/usr/bin/ruby
# frozen_string_literal: true

# Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.
#
#   idempotent_consumer.rb [URL [STORE]]     without a URL: a broker inside this program
#                                            STORE of the claims: lmdb:PATH or postgresql://…; memory: when not given
require "acemq"

QUEUE = "example.once"

# What tells two messages apart is their id; whoever sends again sends the same one.
def publish(mq, id)
  order = Acemq.message_text("one kilo of nails")
  Acemq.message_set_id(order, id)
  Acemq.publish(mq, QUEUE, order, 5 * Acemq::SECOND)
  puts "#{id} is in its queue"
end

def publish_orders(mq)
  topology = Acemq.topology_new
  Acemq.topology_queue(topology, QUEUE, Acemq::QUEUE_QUORUM, true)
  Acemq.topology_apply(mq, topology, 5 * Acemq::SECOND)
  %w[order-1 order-1 order-2].each { |id| publish(mq, id) }
end

# Before an order is seen here its id is claimed; what was handled already is only acknowledged.
def consume(mq, claims)
  # one after the other, so that the story is the same each time
  consumer = Acemq.consumer_open(mq, QUEUE, Acemq::ConsumerOptions.new(idempotency: claims, prefetch: 1))
  2.times do
    order = Acemq.consumer_next(consumer, 5 * Acemq::SECOND)
    puts "#{Acemq.envelope_id(Acemq.delivery_envelope(order))}: charged"
    Acemq.delivery_settle(order, Acemq::ACCEPTED)
  end
  Acemq.consumer_drain(consumer, 5 * Acemq::SECOND)
  counters = Acemq.consumer_get_counters(consumer)
  puts "#{counters.acknowledged} were charged, #{counters.duplicates} had been before"
end

claims = Acemq.idempotency_open(ARGV.fetch(1, "memory:"))
mq = Acemq.connect(ARGV.fetch(0, "memory://example"))
publish_orders(mq)
consume(mq, claims)
Acemq.connection_close(mq, 5 * Acemq::SECOND)
