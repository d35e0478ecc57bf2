#!/usr/bin/ruby
# frozen_string_literal: true

# Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where
# they are.
#
#   replay.rb [URL]     without a URL: a broker inside this program
require "acemq"

QUEUE = "example.replayed"

# Takes `count` orders and says what happened to each of them.
def work(mq, count, outcome)
  consumer = Acemq.consumer_open(mq, QUEUE)
  count.times do
    order = Acemq.consumer_next(consumer, 5 * Acemq::SECOND)
    said = outcome == Acemq::ACCEPTED ? "charged" : "the price list is missing"
    puts "  #{Acemq.envelope_id(Acemq.delivery_envelope(order))}: #{said}"
    Acemq.delivery_settle(order, outcome, "the price list is missing")
  end
  Acemq.consumer_drain(consumer, 5 * Acemq::SECOND)
  Acemq.consumer_close(consumer)
end

def publish_orders(mq)
  topology = Acemq.topology_new
  Acemq.topology_queue(topology, QUEUE, Acemq::QUEUE_QUORUM, true)
  Acemq.topology_apply(mq, topology, 5 * Acemq::SECOND)
  (1..3).each do |number|
    order = Acemq.message_text("one kilo of nails")
    Acemq.message_set_id(order, "order-#{number}")
    Acemq.message_set_header(order, "shop", number == 2 ? "south" : "north")
    Acemq.publish(mq, QUEUE, order, 5 * Acemq::SECOND)
  end
end

is_of_the_north = lambda do |order|
  shop = Acemq.table_get(Acemq.delivery_headers(order), "shop")
  Acemq.value_bytes(shop) == "north"
end

mq = Acemq.connect(ARGV.fetch(0, "memory://example"))
publish_orders(mq)
puts "a bad day:"
work(mq, 3, Acemq::REJECTED)
result = Acemq.replay(mq, QUEUE, Acemq::ReplayOptions.new(filter: is_of_the_north))
puts "after the fix: #{result.replayed} went home, #{result.left} stayed"
work(mq, result.replayed, Acemq::ACCEPTED)
Acemq.connection_close(mq, 5 * Acemq::SECOND)
