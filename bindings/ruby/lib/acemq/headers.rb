# frozen_string_literal: true

require "bigdecimal"

module AceMQ
  # A header value of an AMQP type that no plain Ruby value stands for, such as AceMQ::Typed.new(:int8, 5).
  # Kinds: int8, uint8, int16, uint16, int32, uint32, int64, uint64, float.
  Typed = Struct.new(:kind, :value)

  # Header tables and queue arguments, to and from Ruby: nil, true and false, Integer, Float, BigDecimal, Time (whole
  # seconds), Array, Hash; a String in binary is bytes, any other a long string.
  # @api private
  module Headers
    INTEGERS = { int8: 2, uint8: 3, int16: 4, uint16: 5, int32: 6, uint32: 7, int64: 8, uint64: 9 }.freeze
    RANGE = (-(2**63)..((2**63) - 1)).freeze
    NAME_SIZE = 256
    DEPTH = 32

    module_function

    # @return [FFI::Pointer] a table that the caller frees
    def build(hash, depth = 1)
      check_depth(depth)
      table = Native.acemq_table_new
      raise OutOfMemory if table.null?

      hash.each { |name, value| set(table, name.to_s, value, depth) }
      table
    rescue Exception
      Native.acemq_table_free(table) if table
      raise
    end

    # Lends a table to the block.
    def with(hash)
      return yield(nil) if hash.nil?
      return yield(hash.pointer) if hash.is_a?(Table)
      raise InvalidArgument.new("headers are a #{hash.class}, and no Hash", field: "headers") unless hash.is_a?(Hash)
      return yield(nil) if hash.empty?

      table = build(hash)
      begin
        yield table
      ensure
        Native.acemq_table_free(table)
      end
    end

    # The library's limit, which is told here before what refers to itself has no end.
    def check_depth(depth)
      return if depth <= DEPTH

      raise LimitError.new("headers are nested deeper than the limit of #{DEPTH} levels", field: "headers", limit: DEPTH)
    end

    def set(table, name, value, depth)
      raise InvalidArgument.new("header #{name.inspect}: the name holds a NUL", field: name) if name.include?("\0")

      Native.check { |error| put(table, name, value, depth, error) }
    end

    def put(table, name, value, depth, error)
      case value
      when String, Symbol then put_text(table, name, value.to_s, error)
      when Integer then Native.acemq_table_set_integer(table, name, 8, in_range(name, value), error)
      when Float then Native.acemq_table_set_double(table, name, value, error)
      when true, false then Native.acemq_table_set_bool(table, name, value ? 1 : 0, error)
      when nil then Native.acemq_table_set_void(table, name, error)
      else put_composed(table, name, value, depth, error)
      end
    end

    def put_composed(table, name, value, depth, error)
      case value
      when Hash then with_table(value, depth + 1) { |inner| Native.acemq_table_set_table(table, name, inner, error) }
      when Array then with_array(value, depth + 1) { |inner| Native.acemq_table_set_array(table, name, inner, error) }
      when Time then Native.acemq_table_set_timestamp(table, name, value.to_i, error)
      when BigDecimal then put_decimal(table, name, value, error)
      when Typed then put_typed(table, name, value, error)
      else raise InvalidArgument.new("header #{name}: a #{value.class} has no AMQP type", field: name)
      end
    end

    def put_text(table, name, text, error)
      bytes = Native::Bytes.of(text)
      if text.encoding == Encoding::BINARY
        Native.acemq_table_set_bytes(table, name, bytes, error)
      else
        Native.acemq_table_set_string_bytes(table, name, bytes, error)
      end
    end

    def put_decimal(table, name, value, error)
      decimals = value.finite? ? [value.scale, 0].max : 256
      unscaled = value.finite? ? (value * (10**decimals)).to_i : -1
      unless decimals <= 255 && (0..(2**32) - 1).cover?(unscaled)
        raise LimitError.new("header #{name}: a decimal has up to 255 decimals of a number from 0 to #{(2**32) - 1}",
                             field: name, limit: (2**32) - 1)
      end
      Native.acemq_table_set_decimal(table, name, decimals, unscaled, error)
    end

    def put_typed(table, name, typed, error)
      return Native.acemq_table_set_float(table, name, typed.value, error) if typed.kind.to_sym == :float

      kind = INTEGERS.fetch(typed.kind.to_sym) do
        raise InvalidArgument.new("header #{name}: #{typed.kind} is no kind of number", field: name)
      end
      Native.acemq_table_set_integer(table, name, kind, in_range(name, typed.value), error)
    end

    def in_range(name, number)
      return number if RANGE.cover?(number)

      raise LimitError.new("header #{name}: #{number} does not fit 64 bits", field: name, limit: RANGE.last)
    end

    def with_table(hash, depth)
      inner = build(hash, depth)
      yield inner
    ensure
      Native.acemq_table_free(inner) if inner
    end

    # What an array holds has stood in a table first: that is how it gets its kind.
    def with_array(values, depth)
      check_depth(depth)
      array = Native.acemq_array_new
      values.each do |value|
        with_table({ "value" => value }, depth) do |table|
          Native.check { |error| Native.acemq_array_append(array, Native.acemq_table_get(table, "value"), error) }
        end
      end
      yield array
    ensure
      Native.acemq_array_free(array) if array
    end

    # --- reading ---

    # @return [Hash{String => Object}]
    def read(table)
      return {} if table.null?

      Array.new(Native.acemq_table_count(table)) do |index|
        [Native.text(Native.acemq_table_name(table, index)), value(Native.acemq_table_at(table, index))]
      end.to_h
    end

    def value(pointer)
      case Native.acemq_value_kind(pointer)
      when 0 then nil
      when 1 then integer(pointer) == 1
      when 2..8 then integer(pointer)
      when 9 then unsigned(pointer)
      when 10, 11 then double(pointer)
      when 12 then decimal(pointer)
      when 13 then bytes(pointer).force_encoding(Encoding::UTF_8)
      when 14 then bytes(pointer)
      when 15 then members(pointer).map(&:last)
      when 16 then members(pointer).to_h
      else Time.at(integer(pointer)).utc
      end
    end

    def integer(pointer) = number(:int64) { |out| Native.acemq_value_integer(pointer, out) }

    def unsigned(pointer) = number(:uint64) { |out| Native.acemq_value_unsigned(pointer, out) }

    def double(pointer) = number(:double) { |out| Native.acemq_value_double(pointer, out) }

    def number(type)
      out = FFI::MemoryPointer.new(type)
      yield out
      out.get(type, 0)
    end

    def decimal(pointer)
      decimals = FFI::MemoryPointer.new(:uint8)
      unscaled = FFI::MemoryPointer.new(:uint32)
      Native.acemq_value_decimal(pointer, decimals, unscaled)
      BigDecimal(unscaled.read_uint32) / (BigDecimal(10)**decimals.read_uint8)
    end

    def bytes(pointer)
      view = Native::Bytes.new
      Native.acemq_value_bytes(pointer, view)
      view.copy
    end

    def members(pointer)
      name = FFI::MemoryPointer.new(:char, NAME_SIZE)
      Array.new(Native.acemq_value_count(pointer)) do |index|
        inner = Native.acemq_value_at(pointer, index, name)
        [name.read_string.force_encoding(Encoding::UTF_8), value(inner)]
      end
    end
  end
end
