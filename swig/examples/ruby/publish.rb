#!/usr/bin/ruby
# frozen_string_literal: true

# Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist.
#
#   publish.rb [URL]     without a URL: a broker inside this program
require "acemq"

# A durable queue, with the place where its dead letters will lie. Declaring again is fine.
def declare_orders(mq)
  topology = Acemq.topology_new
  Acemq.topology_queue(topology, "example.orders", Acemq::QUEUE_QUORUM, true)
  Acemq.topology_apply(mq, topology, 5 * Acemq::SECOND)
end

def publish_order(mq, queue, number)
  order = Acemq.message_json(%({"id":#{number}})) # what is wrong with it, publishing tells
  Acemq.message_set_type(order, "order.placed")
  Acemq.message_set_header(order, "shop", "north")
  Acemq.publish(mq, queue, order, 5 * Acemq::SECOND)
end

mq = Acemq.connect(ARGV.fetch(0, "memory://example"))
declare_orders(mq)
(1..3).each do |number|
  publish_order(mq, "example.orders", number)
  puts "order #{number} is in its queue, confirmed"
end
begin
  publish_order(mq, "example.nowhere", 4)
rescue Acemq::UnroutableError => error
  puts "order 4 came back: #{error.message}"
end
Acemq.connection_close(mq, 5 * Acemq::SECOND)
