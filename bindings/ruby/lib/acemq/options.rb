# frozen_string_literal: true

module AceMQ
  # Fills an option struct of the library from keyword arguments. The texts live as long as this object.
  # @api private
  class Options
    attr_reader :struct

    def initialize(type, init)
      @struct = type.new
      @kept = []
      Native.public_send(init, @struct, type.size)
    end

    def text(name, value)
      return if value.nil?

      text = value.to_s
      raise InvalidArgument.new("#{name} holds a NUL", field: name.to_s) if text.include?("\0")

      memory = FFI::MemoryPointer.from_string(text)
      @kept << memory
      @struct[name] = memory
    end

    def handle(name, value)
      return if value.nil?

      @kept << value
      @struct[name] = value.is_a?(FFI::Pointer) ? value : value.pointer
    end

    # @param value [Numeric, String, nil] seconds, or a text such as "10s"; nil: the default
    def duration(name, value)
      @struct[name] = Durations.milliseconds(value, name.to_s) unless value.nil?
    end

    def number(name, value, bits = 64)
      @struct[name] = Options.whole(name, value, bits) unless value.nil?
    end

    # @return [Integer] the value, which a number of the library's has room for
    def self.whole(name, value, bits = 64)
      raise InvalidArgument.new("#{name} is no whole number", field: name.to_s) unless value.is_a?(Integer)

      most = (2**(bits - 1)) - 1
      return value if (-most - 1..most).cover?(value)

      raise LimitError.new("#{name} #{value} does not fit #{bits} bits", field: name.to_s, limit: most)
    end

    def flag(name, value)
      @struct[name] = value ? 1 : 0 unless value.nil?
    end

    # One of several names, each with its number.
    def choice(name, value, choices)
      return if value.nil?

      @struct[name] = choices.fetch(value.to_sym) do
        raise InvalidArgument.new("#{name} #{value} is none of #{choices.keys.join(', ')}", field: name.to_s)
      end
    end

    def to_ptr = @struct.to_ptr
  end
end
