# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_encrypted_frame
    class EncryptedFrame < FFI::Struct
      layout :key_id, Bytes, :authenticated, Bytes, :nonce, Bytes, :ciphertext, Bytes, :tag, Bytes
    end

    quick :acemq_policy_max_age, [:pointer], :int64
    quick :acemq_policy_jitter_factor, [:pointer], :double
    quick :acemq_policy_broker_threshold, [:pointer], :int64
    quick :acemq_policy_waits_in_broker, %i[pointer int64], :int
    quick :acemq_policy_jittered, %i[pointer int64 double], :int64
    quick :acemq_policy_retries, %i[pointer int64 int64], :int
    quick :acemq_policy_choose_rung, %i[pointer int64], :int64
    quick :acemq_policy_rung_arguments, %i[pointer string int64 pointer pointer], :int
    quick :acemq_dead_letter_queue, %i[string pointer pointer], :int
    quick :acemq_parked_queue, %i[string pointer pointer], :int
    quick :acemq_new_id, [:pointer], :void
    quick :acemq_time_parse, %i[string pointer pointer pointer], :int
    quick :acemq_time_format, %i[int64 pointer pointer], :int
    quick :acemq_partition, [Bytes.by_value, :int64, :int], :int64
    quick :acemq_claim_frame_read, [Bytes.by_value, :pointer, :pointer, :pointer], :int
    quick :acemq_claim_frame_write, [:int, Bytes.by_value, :pointer, :pointer, :pointer], :int
    quick :acemq_encrypted_frame_read, [Bytes.by_value, :pointer, :pointer], :int
    quick :acemq_codec_reads, %i[string string], :int
    quick :acemq_codec_check, [:pointer, Bytes.by_value, :string, :pointer], :int
    quick :acemq_codec_encode, [:pointer, Bytes.by_value, :pointer, :pointer, :pointer], :int
    quick :acemq_codec_decode, [:pointer, Bytes.by_value, :string, :pointer, :pointer, :pointer], :int
  end

  # The small rules of the wire contract that all implementations share. Pure, any thread; times are milliseconds.
  module Rules
    FRAMES = %w[none inline stored].freeze
    NAME_SIZE = 256
    ID_SIZE = 37
    TIME_SIZE = 21
    DURATION_SIZE = 24

    module_function

    # @return [String] the queue of its dead letters
    def dead_letter_queue(queue)
      text(NAME_SIZE) { |name, error| Native.acemq_dead_letter_queue(queue, name, error) }
    end

    # @return [String] the queue of its parked messages
    def parked_queue(queue) = text(NAME_SIZE) { |name, error| Native.acemq_parked_queue(queue, name, error) }

    # @return [String] a new UUID, as a message gets one that has no id set
    def new_id
      FFI::MemoryPointer.new(:char, ID_SIZE) { |id| return Native.acemq_new_id(id) || id.read_string }
    end

    # @return [Integer] of a text such as "10s"
    def parse_duration(text) = Durations.of_text(text)

    # @return [String] in one unit
    def format_duration(milliseconds)
      text(DURATION_SIZE) { |out, error| Native.acemq_duration_format(milliseconds, out, error) }
    end

    # @return [Array(Integer, Integer)] seconds since 1970 and nanoseconds of an RFC 3339 time
    def parse_time(text)
      seconds = FFI::MemoryPointer.new(:int64)
      nanoseconds = FFI::MemoryPointer.new(:int32)
      Native.check { |error| Native.acemq_time_parse(text, seconds, nanoseconds, error) }
      [seconds.read_int64, nanoseconds.read_int32]
    end

    # @return [String] RFC 3339, in whole seconds
    def format_time(milliseconds)
      text(TIME_SIZE) { |out, error| Native.acemq_time_format(milliseconds, out, error) }
    end

    # @return [Integer] -1 for a number of partitions that there cannot be
    def partition(key, partitions, rule = :unsigned)
      number = Ordered::RULES.fetch(rule.to_sym) { raise InvalidArgument.new("rule #{rule} is unknown", field: "rule") }
      Native.acemq_partition(Native::Bytes.of(key), partitions, number)
    end

    # @return [Array(String, String)] "none", "inline" or "stored", and the payload or the key
    def read_claim_frame(body)
      body = Native::Bytes.of(body)
      frame = FFI::MemoryPointer.new(:int)
      rest = Native::Bytes.new
      Native.check { |error| Native.acemq_claim_frame_read(body, frame, rest, error) }
      [FRAMES.fetch(frame.read_int), rest.copy]
    end

    # @return [String]
    def write_claim_frame(frame, rest)
      number = FRAMES.index(frame.to_s) or raise InvalidArgument.new("frame #{frame} is unknown", field: "frame")
      rest = Native::Bytes.of(rest)
      owned { |out, length, error| Native.acemq_claim_frame_write(number, rest, out, length, error) }
    end

    # @return [Hash{Symbol => String}] key_id, authenticated, nonce, ciphertext, tag; nothing is decrypted
    def read_encrypted_frame(body)
      body = Native::Bytes.of(body)
      frame = Native::EncryptedFrame.new
      Native.check { |error| Native.acemq_encrypted_frame_read(body, frame, error) }
      frame.members.to_h { |name| [name, frame[name].copy] }
    end

    # @return [Boolean] whether the codec reads a body of this content type
    def codec_reads?(codec, content_type) = Native.acemq_codec_reads(codec.to_s, content_type) == 1

    # @raise [DecodeError] the body does not decode
    def codec_check(codec, body, content_type = nil)
      native = Codec.native(Codec.of(codec))
      body = Native::Bytes.of(body)
      Native.check { |error| Native.acemq_codec_check(native, body, content_type, error) }
    end

    # @return [String] the body that a codec of the library's writes for these bytes
    def codec_encode(codec, payload)
      native = Codec.native(Codec.of(codec))
      payload = Native::Bytes.of(payload)
      owned { |out, length, error| Native.acemq_codec_encode(native, payload, out, length, error) }
    end

    # @return [String] the bytes of a body, as a consumer hands them on
    def codec_decode(codec, body, content_type = nil)
      native = Codec.native(Codec.of(codec))
      body = Native::Bytes.of(body)
      owned { |out, length, error| Native.acemq_codec_decode(native, body, content_type, out, length, error) }
    end

    # @api private
    def text(size)
      FFI::MemoryPointer.new(:char, size) do |out|
        Native.check { |error| yield out, error }
        return out.read_string.force_encoding(Encoding::UTF_8)
      end
    end

    # @api private
    def owned
      out = FFI::MemoryPointer.new(:pointer)
      length = FFI::MemoryPointer.new(:size_t)
      Native.check { |error| yield out, length, error }
      out.read_pointer.read_bytes(length.read(:size_t))
    ensure
      Native.acemq_free(out.read_pointer)
    end
  end

  # What a policy decides; milliseconds.
  class Policy
    # @return [Integer] the age at which a message is given up; 0: none
    def max_age = Native.acemq_policy_max_age(pointer)

    # @return [Float]
    def jitter = Native.acemq_policy_jitter_factor(pointer)

    # @return [Integer] waits of at least this lie in the broker
    def threshold = Native.acemq_policy_broker_threshold(pointer)

    # @return [Integer] the wait after that attempt, before jitter
    def delay_after(attempt) = Native.acemq_policy_wait(pointer, attempt)

    # @param unit [Float] a draw in [-1, 1)
    # @return [Integer]
    def jittered(delay, unit) = Native.acemq_policy_jittered(pointer, delay, unit)

    # @param age [Integer, nil] nil: unknown
    # @return [Boolean] whether a message that failed that attempt is tried again
    def retries?(attempt, age = nil) = Native.acemq_policy_retries(pointer, attempt, age || -1) == 1

    # @return [String, nil] the queue in which a wait lies; nil: it is spent in the consumer
    def rung_for(queue, delay)
      return nil if Native.acemq_policy_waits_in_broker(pointer, delay).zero?

      rung(queue, Native.acemq_policy_choose_rung(pointer, delay))
    end

    # @return [Hash{String => Table}] the arguments of each rung, by its queue
    def rung_arguments(queue)
      Array.new(Native.acemq_policy_rung_count(pointer)) do |index|
        delay = Native.acemq_policy_rung_delay(pointer, index)
        made = Native.made { |out, error| Native.acemq_policy_rung_arguments(pointer, queue, delay, out, error) }
        [rung(queue, delay), Table.new(made)]
      end.to_h
    end
  end
end
