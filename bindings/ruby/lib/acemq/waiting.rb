# frozen_string_literal: true

module AceMQ
  # Calls that cannot be cut into slices run on a thread of the binding's while the caller waits in Ruby, where Ctrl-C,
  # Thread#raise, Thread#kill and Timeout reach it at once.
  # @api private
  module Waiting
    # How long a call keeps a thread before it looks for what interrupts it, in milliseconds.
    SLICE = 100

    # One call on another thread.
    class Job
      def initialize(work)
        @work = work
        @answer = Thread::Queue.new
        @lock = Thread::Mutex.new
        @abandoned = false
        @answered = false
      end

      # On the binding's thread. What nobody waits for any more is undone.
      def run(discard)
        value = nil
        failure = nil
        begin
          value = @work.call
        rescue Exception => e # rubocop:disable Lint/RescueException
          failure = e
        end
        answer(value, failure) || (failure.nil? && discard&.call(value))
      end

      def wait
        value, failure = @answer.pop
        raise failure if failure

        value
      end

      # @return [Boolean] whether it was still under way
      def abandon
        @lock.synchronize { @abandoned = true unless @answered }
      end

      private

      def answer(value, failure)
        @lock.synchronize do
          return false if @abandoned

          @answered = true
          @answer.push([value, failure])
        end
        true
      end
    end

    # Threads that are free to take a call.
    class Crew
      MOST_IDLE = 8

      def initialize
        @lock = Thread::Mutex.new
        @idle = []
        @process = Process.pid
      end

      # In a child of fork none of the threads is left.
      def alive? = @process == Process.pid

      def submit(job, discard)
        inbox = @lock.synchronize { @idle.pop } || hire
        inbox.push([job, discard])
      end

      private

      def hire
        inbox = Thread::Queue.new
        thread = Thread.new { work(inbox) }
        thread.name = "acemq-wait"
        thread.report_on_exception = false
        inbox
      end

      def work(inbox)
        loop do
          job, discard = inbox.pop
          job.run(discard)
          job = discard = nil # or they would live until the next call
          break unless rest(inbox)
        end
      end

      def rest(inbox)
        @lock.synchronize { @idle.size < MOST_IDLE && @idle.push(inbox) }
      end
    end

    @crew = Crew.new

    module_function

    # @param cancel [Proc, nil] ends the call early, when nobody waits for it any more
    # @param discard [Proc, nil] undoes what a call made that nobody waits for any more
    def call(cancel: nil, discard: nil, &work)
      job = Job.new(work)
      crew.submit(job, discard)
      finished = false
      value = job.wait
      finished = true
      value
    ensure
      cancel&.call if !finished && job&.abandon
    end

    # Repeats a call in short slices until it answers something else than "not yet".
    # @yieldparam slice [Integer] milliseconds
    # @yieldreturn [Object, nil] nil: not yet
    # @return [Object, nil] nil: the time is over
    def sliced(milliseconds)
      finish = Durations.now + (milliseconds / 1000.0)
      loop do
        left = ((finish - Durations.now) * 1000).ceil
        answer = yield left.clamp(0, SLICE)
        return answer unless answer.nil?
        return nil if left <= SLICE && Durations.now >= finish
      end
    end

    def crew
      @crew.alive? ? @crew : (@crew = Crew.new)
    end

    class << self
      private :crew
    end
  end
end
