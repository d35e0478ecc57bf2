# frozen_string_literal: true

module AceMQ
  # Times as callers give them: seconds as a number, or a text such as "10s", "500ms" or "2h".
  # @api private
  module Durations
    FOREVER = (2**63) - 1
    LONGEST = FOREVER / 1000

    module_function

    # @param value [Numeric, String, nil] nil: without a limit
    # @return [Integer] milliseconds
    def milliseconds(value, field = "timeout")
      case value
      when nil then FOREVER
      when Numeric then of_seconds(value, field)
      when String then of_text(value, field)
      else raise InvalidArgument.new("#{field} is neither a number of seconds nor a text such as 10s", field: field)
      end
    end

    def of_seconds(seconds, field)
      if seconds.respond_to?(:nan?) && (seconds.nan? || seconds.infinite?)
        raise InvalidArgument.new("#{field} is not a finite number", field: field)
      end
      raise InvalidArgument.new("#{field} is below 0", field: field) if seconds.negative?

      seconds >= LONGEST ? FOREVER : (seconds * 1000).ceil
    end

    def of_text(text, field = nil)
      FFI::MemoryPointer.new(:int64) do |out|
        Native.check { |error| Native.acemq_duration_parse(text, out, error) }
        return out.read_int64
      end
    rescue ParseError => e
      raise unless field

      raise ParseError.new("#{field}: #{e.message}", field: field, fatal: e.fatal?)
    end

    def seconds(milliseconds) = milliseconds / 1000.0

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
