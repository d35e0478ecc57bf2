# frozen_string_literal: true

# Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.
#
#   ruby idempotent_consumer.rb [URL [STORE]]     without a URL: a broker inside this program
#                                                 STORE of the claims: lmdb:PATH or postgresql://…; memory: when not given

require "acemq"

QUEUE = "example.once"

AceMQ.connect(ARGV[0] || "memory://example") do |mq|
  mq.declare { |topology| topology.queue(QUEUE) }
  %w[order-1 order-1 order-2].each do |id|
    mq.publish(QUEUE, "one kilo of nails", codec: :text, id: id)
    puts "#{id} is in its queue"
  end

  # One after the other, so that the story is the same each time.
  consumer = mq.consume(QUEUE, codec: :text, prefetch: 1, idempotency: ARGV[1] || "memory:") do |order|
    puts "#{order.id}: charged"
  end
  sleep 0.05 until consumer.counters.values_at(:acknowledged, :duplicates) == [2, 1]
  puts "#{consumer.counters[:acknowledged]} were charged, #{consumer.counters[:duplicates]} had been before"
end
