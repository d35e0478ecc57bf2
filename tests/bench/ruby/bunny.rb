# frozen_string_literal: true

# The work of tests/bench/run with bunny, as its users write it: bunny.rb publish|consume OPTIONS.

require_relative "work"
require "bunny"

def message(number)
  id = format("00000000-0000-4000-8000-%012x", number)
  { persistent: true, mandatory: true, content_type: "application/json", message_id: id,
    headers: { "x-acemq-id" => id, "x-acemq-type" => "bench.message", "x-acemq-correlation" => id,
               "x-acemq-origin" => "acemq@bunny", "x-acemq-version" => 1, "x-acemq-attempt" => 1,
               "x-acemq-first-seen" => (Time.now.to_f * 1000).to_i } }
end

def publish(wanted)
  connection = Bunny.new(wanted[:url].chomp("/")).start
  channel = connection.create_channel
  queue = channel.queue(wanted[:queue], durable: true)
  queue.purge
  channel.confirm_select
  exchange = channel.default_exchange
  exchange.on_return { abort "a message came back" }
  payload = Work.payload(wanted[:size])
  measured = Work.begin
  (1..wanted[:count]).each_slice(wanted[:window]) do |numbers|
    numbers.each { |number| exchange.publish(JSON.generate(payload), message(number).merge(routing_key: queue.name)) }
    channel.wait_for_confirms or abort "a message was declined"
  end
  Work.report(measured, wanted[:count])
  connection.close
end

# Each message acknowledged by itself; the clock stops when the broker has answered the goodbye.
def consume(wanted)
  connection = Bunny.new(wanted[:url].chomp("/")).start
  channel = connection.create_channel
  channel.prefetch(wanted[:prefetch])
  finished = Thread::Queue.new
  measured = nil
  seen = 0
  total = 0
  channel.queue(wanted[:queue], durable: true).subscribe(manual_ack: true) do |delivery, _properties, body|
    measured ||= Work.begin
    total += JSON.parse(body)["total"]
    channel.ack(delivery.delivery_tag)
    finished.push(true) if (seen += 1) == wanted[:count]
  end
  finished.pop
  connection.close
  abort "the payloads are not what they were" unless total == wanted[:count] * 99.5
  Work.report(measured, wanted[:count])
end

command, wanted = Work.read(ARGV)
send(command, wanted)
