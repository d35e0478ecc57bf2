# frozen_string_literal: true

module AceMQ
  # One handle of the library's. It is freed once nothing in Ruby can reach it any more, so that a call under way on
  # another thread never meets a freed one; closing is what ends its work early.
  # @api private
  class Handle
    # Frees a pointer: what Ruby calls once its handle is gone, in whichever order it collects.
    Release = Struct.new(:pointer, :function) do
      def call(_id = nil)
        Native.public_send(function, pointer)
      end
    end

    attr_reader :pointer

    def initialize(pointer, function)
      @pointer = pointer
      ObjectSpace.define_finalizer(self, Release.new(pointer, function))
    end

    # The handle is the library's to take as an argument.
    alias to_ptr pointer
  end
end
