# frozen_string_literal: true

# Handles what is left of numbers 0 to COUNT - 1 through handlers that raise, throw, break, end their thread, exit and are
# collected while registered, with the collector running all the time, and writes down each number that was handled.
#
#   surviving.rb URL QUEUE LEDGER COUNT [leak]
#
# Ends with 0 when all are handled, and says by how many KiB it grew over the second half of them; with 7 when a handler
# said exit, which only happens with a broker that outlives the program. With `leak` no delivery that was settled is freed.

$LOAD_PATH.unshift(File.expand_path("../../lib", __dir__))
require "acemq"

URL, QUEUE, LEDGER = ARGV
COUNT = Integer(ARGV[3])
OUTLIVES = !URL.start_with?("memory:")
POLICY = AceMQ.fixed(4, 0.001)
BEGUN = File.exist?(LEDGER)

if ARGV.include?("leak")
  AceMQ::Receiver.prepend(Module.new do
    private

    def let_go(message, slot)
      message.settled? ? slot.write_pointer(FFI::Pointer::NULL) : super
    end
  end)
end

# Which numbers were handled, and how large the process was meanwhile.
class Ledger
  def initialize(path, count)
    @done = Array.new(count, false)
    File.exist?(path) && File.foreach(path) { |line| @done[line.to_i] = true }
    @left = @done.count(false)
    @file = File.open(path, "a")
    @file.sync = true
    @sizes = {}
    @lock = Thread::Mutex.new
  end

  def note(number)
    @lock.synchronize do
      @left -= 1 unless @done[number]
      @done[number] = true
      @file.puts(number)
      tenth = (@done.size - @left) * 10 / @done.size
      @sizes[tenth] ||= resident_kib
    end
  end

  def complete? = @lock.synchronize { @left.zero? }

  def grown = @sizes.fetch(10) - @sizes.fetch(5)

  private

  def resident_kib = File.read("/proc/self/statm").split[1].to_i * 4
end

# What a handler does with a message that it has not seen.
def misbehave(number)
  case number % 100
  when 3, 30, 57 then raise "raised"
  when 7, 71 then throw :out
  when 11 then raise NotImplementedError, "no StandardError"
  when 13 then raise Exception, "neither" # rubocop:disable Lint/RaiseException
  when 17 then Thread.exit
  when 19 then [1, 2].each { |each| break each }
  end
end

def exits(message)
  exit 7 if OUTLIVES && !message.redelivered? && [COUNT / 20, COUNT / 10, COUNT / 5].include?(message.payload["number"])
end

# A frame of its own, so that nothing on the stack looks like the handler.
def register(mq, ledger)
  mq.group(QUEUE, members: 2, retry: POLICY) do |message|
    exits(message)
    number = message.payload["number"]
    misbehave(number) unless message.attempt > 1 || message.redelivered?
    ledger.note(number)
  end
end

# Loops that are left after ten messages, the eleventh in hand.
def leave_loops(mq, ledger)
  3.times do
    consumer = mq.consume(QUEUE)
    taken = 0
    consumer.each do |message|
      break if (taken += 1) > 10

      ledger.note(message.payload["number"])
    end
    consumer.close
  end
end

def publish(mq)
  mq.publisher(routing_key: QUEUE).window(200) { |window| COUNT.times { |number| window.send({ "number" => number }) } }
end

def await(what)
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 120
  until yield
    raise "in vain for #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish

    sleep 0.01
  end
end

def collecting
  collector = Thread.new do
    loop do
      GC.start
      sleep 0.005
    end
  end
  yield
ensure
  collector.kill
  collector.join
end

ledger = Ledger.new(LEDGER, COUNT)
collecting do
  AceMQ.connect(URL) do |mq|
    mq.declare { |topology| topology.queue(QUEUE, type: :classic) }
    unless BEGUN
      publish(mq)
      leave_loops(mq, ledger)
    end
    register(mq, ledger)
    await("all messages") { ledger.complete? }
    await("the last settlements") { ["", ".dlq", ".parked"].all? { |suffix| mq.count(QUEUE + suffix).ready.zero? } }
    mq.drain
  end
end
puts "grew by #{ledger.grown}"
