# frozen_string_literal: true

module AceMQ
  # Waiting for a signal, with the program's own traps put back afterwards.
  # @api private
  module Signals
    module_function

    # @yieldparam waker [Thread::Queue] pushed to by each signal
    def wait(names)
      waker = Thread::Queue.new
      before = names.to_h { |name| [name, Signal.trap(name) { waker.push(nil) }] }
      yield waker
    ensure
      before&.each { |name, handler| Signal.trap(name, handler || "DEFAULT") }
    end
  end
end
