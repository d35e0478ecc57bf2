# frozen_string_literal: true

# Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
# dead letters, and order 4 is no JSON and is parked without being seen.
#
#   ruby consume_with_retry.rb [URL]     without a URL: a broker inside this program

require "acemq"

QUEUE = "example.retried"
POLICY = AceMQ.exponential(3, "100ms", "1s", jitter: 0) # in the same order each time

AceMQ.connect(ARGV[0] || "memory://example") do |mq|
  mq.declare { |topology| topology.queue(QUEUE, retry: POLICY) }
  1.upto(3) { |number| mq.publish(QUEUE, { id: number }, id: "order-#{number}") }
  mq.publish(QUEUE, '{"id":', id: "order-4", codec: :bytes, content_type: "application/json")

  consumer = mq.consume(QUEUE, retry: POLICY) do |order|
    fails = order.id == "order-3" || (order.id == "order-2" && order.attempt < 3)
    puts "#{order.id}, attempt #{order.attempt}: #{fails ? 'no stock' : 'charged'}"
    raise "no stock" if fails
  end

  # A program of your own would call mq.run here, which waits for Ctrl-C.
  sleep 0.05 until consumer.counters.values_at(:acknowledged, :dead_lettered, :parked).sum == 4
  counters = consumer.counters
  puts "#{counters[:acknowledged]} succeeded after #{counters[:retried]} retries, " \
       "#{counters[:dead_lettered]} among the dead letters, #{counters[:parked]} parked"
end
