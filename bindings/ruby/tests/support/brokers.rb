# frozen_string_literal: true

require_relative "tap"

ENV["ACEMQ_LIBRARY"] ||= File.join(ENV.fetch("ACEMQ_TEST_BUILD"), "lib", "libacemq.so")
$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "acemq"

# The two brokers that the binding is tested against.
BROKERS = { "memory" => "memory://ruby-#{Process.pid}", "RabbitMQ" => ENV.fetch("ACEMQ_TEST_URL") }.freeze

# Defines a test for each broker: the block gets a connection, and a queue of its own that is deleted afterwards.
def test_on_each(name, **options, &body)
  BROKERS.each do |broker, url|
    test("#{name} (#{broker})") { with_queue(url, **options, &body) }
  end
end

def with_queue(url, **options)
  $queues = ($queues || 0) + 1
  queue = "ruby.#{Process.pid}.#{$queues}"
  AceMQ.connect(url, **options) do |mq|
    mq.declare { |topology| topology.queue(queue, type: :classic, retry: AceMQ.fixed(2, "40s")) }
    yield mq, queue
  ensure
    clear(url, queue)
  end
end

# On a connection of its own: the test's may be closed.
def clear(url, queue)
  AceMQ.connect(url) do |mq|
    [queue, "#{queue}.dlq", "#{queue}.parked", *AceMQ.fixed(2, "40s").rungs(queue)].each { |name| mq.delete(name) }
  end
end
