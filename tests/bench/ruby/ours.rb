# frozen_string_literal: true

# The work of tests/bench/run with the binding for Ruby, as its users write it: ours.rb publish|consume|fill OPTIONS.

require_relative "work"
$LOAD_PATH.unshift(File.expand_path("../../../bindings/ruby/lib", __dir__))
require "acemq"

WARM_UP = 200

def publish_all(mq, wanted, count)
  payload = Work.payload(wanted[:size])
  publisher = mq.publisher(routing_key: wanted[:queue])
  publisher.window(wanted[:window]) { |window| count.times { window.send(payload, type: "bench.message") } }
end

def empty(mq, wanted)
  mq.declare { |topology| topology.queue(wanted[:queue], type: :classic, dead_letter: false) }
  mq.purge(wanted[:queue])
end

def publish(wanted)
  AceMQ.connect(wanted[:url]) do |mq|
    empty(mq, wanted)
    publish_all(mq, wanted, WARM_UP)
    measured = Work.begin
    publish_all(mq, wanted, wanted[:count])
    Work.report(measured, wanted[:count])
  end
end

def fill(wanted)
  AceMQ.connect(wanted[:url]) do |mq|
    empty(mq, wanted)
    publish_all(mq, wanted, wanted[:count])
    puts "{}"
  end
end

# The clock stops when the broker has answered the goodbye.
def consume(wanted)
  measured = nil
  seen = 0
  total = 0
  AceMQ.connect(wanted[:url]) do |mq|
    mq.consume(wanted[:queue], prefetch: wanted[:prefetch]) do |message|
      measured ||= Work.begin
      total += message.payload["total"]
      mq.stop if (seen += 1) == wanted[:count]
    end
    mq.run
  end
  abort "the payloads are not what they were" unless total == wanted[:count] * 99.5
  Work.report(measured, wanted[:count])
end

command, wanted = Work.read(ARGV)
send(command, wanted)
