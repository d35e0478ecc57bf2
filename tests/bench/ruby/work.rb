# frozen_string_literal: true

require "json"
require "optparse"

# What the two programs share: their options, the payload, and the clock.
module Work
  module_function

  def read(arguments)
    command = arguments.shift
    wanted = { url: ENV.fetch("ACEMQ_TEST_URL"), queue: "acemq.bench", count: 1000, window: 256, prefetch: 300, size: 256 }
    parser = OptionParser.new
    wanted.each { |name, default| parser.on("--#{name} VALUE", default.class) { |value| wanted[name] = value } }
    parser.parse!(arguments)
    [command, wanted]
  end

  # An order of as many bytes of JSON.
  def payload(size)
    order = { "id" => 7, "customer" => "c-1021", "total" => 99.5, "paid" => true, "note" => "" }
    order.merge("note" => "x" * [size - JSON.generate(order).bytesize, 0].max)
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def processor = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

  def begin = [now, processor]

  def report((began, used), count)
    puts JSON.generate("count" => count, "seconds" => now - began, "processor" => processor - used)
  end
end
