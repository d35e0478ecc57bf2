# frozen_string_literal: true

# Replay: orders that ended among the dead letters go home after the fix, all but those that the block leaves where they
# are.
#
#   ruby replay.rb [URL]     without a URL: a broker inside this program

require "acemq"

QUEUE = "example.replayed"

# Takes so many orders and hands each to the block.
def work(mq, count)
  consumer = mq.consume(QUEUE, codec: :text)
  count.times { yield consumer.pull(timeout: 5) }
  consumer.drain
  consumer.close
end

AceMQ.connect(ARGV[0] || "memory://example") do |mq|
  mq.declare { |topology| topology.queue(QUEUE) }
  1.upto(3) do |number|
    mq.publish(QUEUE, "one kilo of nails", codec: :text, id: "order-#{number}",
                                           headers: { shop: number == 2 ? "south" : "north" })
  end

  puts "a bad day:"
  work(mq, 3) do |order|
    puts "  #{order.id}: the price list is missing"
    order.reject("the price list is missing")
  end
  result = mq.replay(QUEUE) { |order| order.headers["shop"] == "north" }
  puts "after the fix: #{result.replayed} went home, #{result.left} stayed"
  work(mq, result.replayed) do |order|
    puts "  #{order.id}: charged"
    order.accept
  end
end
