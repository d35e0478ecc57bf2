#!/usr/bin/ruby
# frozen_string_literal: true

# The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.
#
#   outbox.rb [URL [STORE]]     without a URL: a broker inside this program
#                               STORE: lmdb:PATH or postgresql://…; memory: when not given
require "acemq"

QUEUE = "example.outbox"

# Here in a transaction of its own; outbox_statement_new() gives the INSERT for yours. No broker is needed.
def write_orders(outbox)
  (1..3).each do |number|
    order = Acemq.message_json(%({"id":#{number}}))
    Acemq.message_set_type(order, "order.placed")
    Acemq.outbox_enqueue(outbox, "", QUEUE, order, 5 * Acemq::SECOND)
  end
end

def relay_orders(mq, outbox)
  relay = Acemq.relay_start(mq, outbox)
  Acemq.relay_drain(relay, 10 * Acemq::SECOND)
  puts "the relay published #{Acemq.relay_count(relay).published} orders"
  Acemq.relay_stop(relay, 5 * Acemq::SECOND)
end

outbox = Acemq.outbox_open(ARGV.fetch(1, "memory:"))
mq = Acemq.connect(ARGV.fetch(0, "memory://example"))
topology = Acemq.topology_new
Acemq.topology_queue(topology, QUEUE, Acemq::QUEUE_QUORUM, true)
Acemq.topology_apply(mq, topology, 5 * Acemq::SECOND)
write_orders(outbox)
puts "#{Acemq.outbox_count(outbox, 5 * Acemq::SECOND).pending} orders are written, and not published yet"
relay_orders(mq, outbox)
Acemq.connection_close(mq, 5 * Acemq::SECOND)
