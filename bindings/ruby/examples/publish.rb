# frozen_string_literal: true

# Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist, which is
# told apart.
#
#   ruby publish.rb [URL]     without a URL: a broker inside this program

require "acemq"

AceMQ.connect(ARGV[0] || "memory://example") do |mq|
  mq.declare { |topology| topology.queue("example.orders") } # declaring again is fine
  1.upto(3) do |number|
    mq.publish("example.orders", { id: number }, type: "order.placed", headers: { shop: "north" })
    puts "order #{number} is in its queue, confirmed"
  end
  mq.publish("example.nowhere", { id: 4 }, type: "order.placed")
rescue AceMQ::Unroutable => e
  puts "order 4 came back: #{e.message}"
end
