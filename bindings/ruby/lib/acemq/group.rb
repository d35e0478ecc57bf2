# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_group_options
    class GroupOptions < FFI::Struct
      layout :size, :size_t, :consumer, :pointer, :drain_budget, :int64, :members, :int64
    end

    quick :acemq_group_options_init, %i[pointer size_t], :int
    waits :acemq_group_open, %i[pointer string pointer pointer pointer], :int
    quick :acemq_group_next, %i[pointer int64 pointer pointer], :int
    attach_function :slow_group_next, :acemq_group_next, %i[pointer int64 pointer pointer], :int, blocking: true
    quick :acemq_group_wake, [:pointer], :void
    quick :acemq_group_fd, [:pointer], :int
    waits :acemq_group_scale, %i[pointer int64 pointer], :int
    quick :acemq_group_members, [:pointer], :int64
    quick :acemq_group_set_prefetch, %i[pointer int64 pointer], :int
    quick :acemq_group_prefetch, [:pointer], :int64
    quick :acemq_group_pause, %i[pointer pointer], :int
    quick :acemq_group_resume, %i[pointer pointer], :int
    quick :acemq_group_paused, [:pointer], :int
    waits :acemq_group_drain, %i[pointer int64 pointer pointer pointer], :int
    quick :acemq_group_get_work, %i[pointer pointer pointer], :int
    waits :acemq_group_close, %i[pointer pointer], :int
    waits :acemq_group_free, [:pointer], :void
    quick :acemq_group_get_counters, %i[pointer pointer pointer], :int
    quick :acemq_group_subscribed, [:pointer], :int
  end

  # Several handlers of one queue at once, in a number that changes while they run. Any thread.
  class Group < Receiver
    # @api private
    def self.open(connection, queue, members: 2, drain_budget: nil, **options)
      settings = ConsumerSettings.new(connection, **options)
      group = Options.new(Native::GroupOptions, :acemq_group_options_init)
      group.number(:members, members)
      group.duration(:drain_budget, drain_budget)
      handle = Waiting.call(cancel: -> { settings.cancel.fire }) do
        settings.with do |native|
          group.handle(:consumer, native.to_ptr)
          made = Native.made { |out, error| Native.acemq_group_open(connection.pointer, queue, group, out, error) }
          Handle.new(made, :acemq_group_free)
        end
      end
      new(connection, queue, handle, Native.acemq_group_fd(handle.pointer), settings)
    end

    # @return [Integer] how many handlers run at once
    def members = Native.acemq_group_members(@handle.pointer)

    # Another number of members, 1 to 1000. With fewer it waits until those removed have finished what they are at; from
    # a handler it does not wait.
    def scale(members)
      Options.whole(:members, members)
      return scale_later(members) if worker?

      change = -> { Native.check { |error| Native.acemq_group_scale(@handle.pointer, members, error) } }
      before = self.members
      Waiting.call(&change)
      (members - before).times { hire } if @handler
      nil
    end

    # @return [Integer] of each member
    def prefetch = Native.acemq_group_prefetch(@handle.pointer)

    # Another one while it runs, 1 to 65535.
    def prefetch=(count)
      Options.whole(:prefetch, count)
      Native.check { |error| Native.acemq_group_set_prefetch(@handle.pointer, count, error) }
    end

    # Not subscribed until {#resume}: what was not begun goes back, what is in hand is finished.
    def pause = Native.check { |error| Native.acemq_group_pause(@handle.pointer, error) }

    # Subscribes again.
    def resume = Native.check { |error| Native.acemq_group_resume(@handle.pointer, error) }

    # @return [Boolean]
    def paused? = Native.acemq_group_paused(@handle.pointer) == 1

    # @return [Boolean]
    def subscribed? = Native.acemq_group_subscribed(@handle.pointer) == 1

    # @return [Array<Work>] what its members have in hand
    def work = Work.take(Native.made { |out, error| Native.acemq_group_get_work(@handle.pointer, out, error) })

    # Ends each {#pull} under way, or else the next one.
    def wake = Native.acemq_group_wake(@handle.pointer)

    private

    # Those that are too many go after the message they are at.
    def scale_later(members)
      Thread.new do
        scale(members)
      rescue Error => e
        @connection.report(e, @queue)
      end
      nil
    end

    def superfluous?
      @lock.synchronize do
        @threads.include?(Thread.current) && @threads.size > members && !@threads.delete(Thread.current).nil?
      end
    end

    def take_quickly(slot, error) = Native.acemq_group_next(@handle.pointer, 0, slot, error)

    def take_slowly(slot, wait, error) = Native.slow_group_next(@handle.pointer, wait, slot, error)

    def count_into(counters, error) = Native.acemq_group_get_counters(@handle.pointer, counters, error)

    # Cancelled, it does not wait for handlers.
    def close_native
      @cancel.fire
      Native.check { |error| Native.acemq_group_close(@handle.pointer, error) }
    rescue CancelledError, TimeoutError
      nil # closed all the same
    end

    def drained_within?(slice)
      Native.check { |error| Native.acemq_group_drain(@handle.pointer, slice, nil, nil, error) }
      true
    rescue TimeoutError
      nil
    end
  end
end
