# frozen_string_literal: true

# The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.
#
#   ruby outbox.rb [URL [STORE]]     without a URL: a broker inside this program
#                                    STORE: lmdb:PATH or postgresql://…; memory: when not given

require "acemq"

outbox = AceMQ::Outbox.new(ARGV[1] || "memory:")
AceMQ.connect(ARGV[0] || "memory://example") do |mq|
  mq.declare { |topology| topology.queue("example.outbox") }

  # Here in a transaction of its own; AceMQ::Outbox.statement gives the INSERT for one of yours. No broker is needed.
  1.upto(3) { |number| outbox.enqueue("example.outbox", { id: number }, type: "order.placed") }
  puts "#{outbox.count.pending} orders are written, and not published yet"

  mq.relay(outbox) do |relay|
    relay.drain
    puts "the relay published #{relay.count.published} orders"
  end
end
