# frozen_string_literal: true

require_relative "brokers"
require "rbconfig"
require "timeout"

# Programs of their own, that are interrupted, fork or exit.
module Children
  HEAD = <<~RUBY
    $LOAD_PATH.unshift(#{File.expand_path('../../lib', __dir__).inspect})
    require "acemq"
    require "timeout"
    $stdout.sync = true
  RUBY

  # One that runs.
  class Child
    attr_reader :pid, :status

    def initialize(source, arguments)
      @output, inside = IO.pipe
      @pid = Process.spawn(RbConfig.ruby, "-e", HEAD + source, *arguments, out: inside, err: inside)
      inside.close
    end

    # Reads lines until that one.
    def await(line)
      seen = []
      Timeout.timeout(60) do
        while (read = @output.gets)
          return if read.chomp == line

          seen << read
        end
      end
      raise Tap::Failure, "the program ended without #{line.inspect}: #{seen.join}"
    end

    def signal(name) = Process.kill(name, @pid)

    # @return [String] the rest of what it printed
    def finish
      rest = Timeout.timeout(60) { @output.read }
      _, @status = Process.wait2(@pid)
      rest
    rescue Timeout::Error
      Process.kill(:KILL, @pid)
      raise Tap::Failure, "the program did not end"
    end
  end

  def self.start(source, *arguments) = Child.new(source, arguments)
end
