# frozen_string_literal: true

# Tests that print TAP: `test "what it shows" do … end`, run in their order by `Tap.run` at the end.
module Tap
  # A test that does not hold.
  class Failure < StandardError; end

  TESTS = [] # rubocop:disable Style/MutableConstant

  # What tests say.
  module Asserting
    def same(expected, actual, what = "value")
      raise Failure, "#{what}: expected #{expected.inspect}, got #{actual.inspect}" unless expected == actual
    end

    def check(truth, what)
      raise Failure, what unless truth
    end

    # @return [Exception] what the block raised, of that class
    def raises(kind)
      yield
    rescue kind => e
      e
    else
      raise Failure, "expected #{kind}, and nothing was raised"
    end

    # Waits for a condition, generously.
    def eventually(what, seconds: 20)
      finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      until (found = yield)
        raise Failure, "not within #{seconds} s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish

        sleep 0.01
      end
      found
    end
  end

  def self.run
    puts "1..#{TESTS.size}"
    failed = TESTS.each_with_index.count { |(name, body), index| !one(index + 1, name, body) }
    exit(failed.zero? ? 0 : 1)
  end

  def self.one(number, name, body)
    body.call
    puts "ok #{number} - #{name}"
    true
  rescue Exception => e # rubocop:disable Lint/RescueException
    puts "not ok #{number} - #{name}"
    puts "# #{e.class}: #{e.message}".gsub("\n", "\n# ")
    e.backtrace.first(12).each { |line| puts "#   #{line}" }
    false
  ensure
    $stdout.flush
  end
end

extend Tap::Asserting

def test(name, &body) = Tap::TESTS.push([name, body])
