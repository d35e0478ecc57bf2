# frozen_string_literal: true

require "ffi"

module AceMQ
  # The C library, function by function, under the names of its headers.
  # @api private
  module Native
    extend FFI::Library

    ABI = 0

    # The file named by ACEMQ_LIBRARY; else the copy inside the gem; else what the system's loader finds.
    def self.library_file
      named = ENV.fetch("ACEMQ_LIBRARY", "")
      return named unless named.empty?

      bundled = Dir.glob(File.join(__dir__, "native", "libacemq.so*")).min
      bundled || "libacemq.so.#{ABI}"
    end

    ffi_lib library_file

    # A pointer as a number, in what every message passes through: no object is made for it.
    typedef :size_t, :address

    # A view of bytes that the library owns.
    class Bytes < FFI::Struct
      layout :data, :pointer, :length, :size_t

      def self.of(string)
        bytes = new
        bytes.hold(string)
        bytes
      end

      # Keeps a copy of the string alive as long as this view.
      def hold(string)
        @memory = FFI::MemoryPointer.new(:char, [string.bytesize, 1].max)
        @memory.put_bytes(0, string)
        self[:data] = @memory
        self[:length] = string.bytesize
      end

      # @return [String] a copy, in binary
      def copy
        length = self[:length]
        length.zero? ? String.new : self[:data].read_bytes(length)
      end
    end

    # Functions that answer at once, with the lock of the interpreter held.
    def self.quick(name, arguments, result)
      attach_function name, arguments, result
    end

    # Functions that wait for a broker, a store or another thread: the interpreter's lock is dropped meanwhile.
    def self.waits(name, arguments, result)
      attach_function name, arguments, result, blocking: true
    end

    # Runs a call whose last argument receives the error.
    # @yieldparam slot [FFI::Pointer] for the error
    # @yieldreturn [Integer] the status
    # @raise [Error]
    def self.check
      slot = FFI::MemoryPointer.new(:pointer)
      status = yield slot
      raise Error.take(status, slot.read_pointer) unless status.zero?
    rescue ArgumentError => e
      raise nul(e)
    end

    # @return [Exception] what is told of a text that ends too early for the library; any other is told as it is
    def self.nul(failure)
      failure.message.include?("null byte") ? InvalidArgument.new("a text holds a NUL") : failure
    end

    # The error of a call that was given a slot for it, which can be used again.
    # @return [Error]
    def self.failure(status, slot)
      pointer = slot.read_pointer
      slot.put_pointer(0, nil)
      Error.take(status, pointer)
    end

    # The same for a call that also hands out a pointer.
    # @return [FFI::Pointer]
    def self.made
      out = FFI::MemoryPointer.new(:pointer)
      check { |error| yield out, error }
      out.read_pointer
    end

    # Reads a text that the library handed over, and frees it.
    def self.take_text(pointer)
      pointer.read_string.force_encoding(Encoding::UTF_8)
    ensure
      acemq_free(pointer)
    end

    # A borrowed text as a String, nil for NULL.
    def self.text(string)
      string&.force_encoding(Encoding::UTF_8)
    end

    quick :acemq_version, [], :string
    quick :acemq_abi_version, [], :int
    quick :acemq_has, [:string], :int
    quick :acemq_free, [:pointer], :void

    quick :acemq_error_name, [:pointer], :string
    quick :acemq_error_message, [:pointer], :string
    quick :acemq_error_field, [:pointer], :string
    quick :acemq_error_limit, [:pointer], :int64
    quick :acemq_error_reply_code, [:pointer], :int
    quick :acemq_error_is_retriable, [:pointer], :int
    quick :acemq_error_is_fatal, [:pointer], :int
    quick :acemq_error_free, [:pointer], :void
    quick :acemq_error_code, [:pointer], :int
    quick :acemq_status_name, [:int], :string

    quick :acemq_cancel_new, %i[pointer pointer], :int
    quick :acemq_cancel_fire, [:pointer], :void
    quick :acemq_cancel_free, [:pointer], :void

    quick :acemq_duration_parse, %i[string pointer pointer], :int
    quick :acemq_duration_format, %i[int64 pointer pointer], :int
  end
end
