# frozen_string_literal: true

module AceMQ
  # A token that ends the calls that watch it.
  # @api private
  class Cancel
    def initialize
      pointer = Native.made { |out, error| Native.acemq_cancel_new(out, error) }
      @handle = Handle.new(pointer, :acemq_cancel_free)
    end

    def pointer = @handle.pointer

    def fire = Native.acemq_cancel_fire(pointer)
  end
end
