# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_keyring_new, %i[pointer pointer], :int
    quick :acemq_keyring_add, [:pointer, :string, Bytes.by_value, :pointer], :int
    quick :acemq_keyring_write_with, %i[pointer string pointer], :int
    quick :acemq_keyring_free, [:pointer], :void
    quick :acemq_codec_encrypted, %i[pointer pointer pointer pointer], :int

    # acemq_claim_directory_options
    class ClaimDirectoryOptions < FFI::Struct
      layout :size, :size_t, :largest, :int64, :mode, :int32, :reserved, :int32
    end

    quick :acemq_claim_directory_options_init, %i[pointer size_t], :int
    quick :acemq_claim_store_directory, %i[string pointer pointer pointer], :int
    waits :acemq_claim_store_remove, %i[pointer string pointer], :int
    quick :acemq_claim_store_free, [:pointer], :void
    quick :acemq_codec_claim_check, %i[pointer pointer int64 pointer pointer], :int
  end

  module Codec
    # A codec of the library's around another one: it encrypts, or stores elsewhere.
    class Wrapping
      # @api private
      attr_reader :native

      # @api private
      def initialize(pointer, inner, *kept)
        @native = Handle.new(pointer, :acemq_codec_free)
        @inner = inner
        @kept = kept
      end

      # @api private
      def dump(payload) = @inner.dump(payload)

      # @api private
      def load(bytes) = @inner.load(bytes)

      # @api private
      def message(bytes) = Native.acemq_message_encoded(@native.pointer, bytes, bytes.bytesize)
    end
  end

  # A folder in which large bodies lie, one file each.
  class ClaimDirectory
    # @param path [String] a folder that exists
    # @param largest [Integer, nil] bytes of a body; default 128 MiB
    # @param mode [Integer, nil] permission bits of the files; default 0600
    def initialize(path, largest: nil, mode: nil)
      options = Options.new(Native::ClaimDirectoryOptions, :acemq_claim_directory_options_init)
      options.number(:largest, largest)
      options.number(:mode, mode, 32)
      pointer = Native.made { |out, error| Native.acemq_claim_store_directory(path, options, out, error) }
      @handle = Handle.new(pointer, :acemq_claim_store_free)
    end

    # @api private
    def pointer = @handle.pointer

    # Deletes an object, when nobody needs it any more.
    def remove(key)
      Waiting.call { Native.check { |error| Native.acemq_claim_store_remove(pointer, key, error) } }
    end
  end

  class << self
    # A codec that encrypts what another one writes, with AES-GCM. Bodies of an unknown key, or that were changed, are
    # parked.
    # @param keys [Hash{String => String}] keys of 16, 24 or 32 bytes by their ids; the first one writes
    # @param write_with [String, nil] the id of another one that writes
    # @param inner [Symbol] of the payload
    def encrypted(keys, write_with: nil, inner: :json)
      inner = Codec.of(inner)
      ring = keyring(keys, write_with)
      pointer = Native.made { |out, error| Native.acemq_codec_encrypted(ring, Codec.native(inner), out, error) }
      Codec::Wrapping.new(pointer, inner)
    ensure
      Native.acemq_keyring_free(ring) if ring
    end

    # A codec that stores large bodies elsewhere, and lets their keys travel.
    # @param store [ClaimDirectory, String] or the path of its folder
    # @param threshold [Integer] bytes from which on a body is stored
    # @param inner [Symbol, Codec::Wrapping] such as an encrypting codec
    def claim_check(store, threshold: 65_536, inner: :json)
      inner = Codec.of(inner)
      store = ClaimDirectory.new(store) if store.is_a?(String)
      pointer = Native.made do |out, error|
        Native.acemq_codec_claim_check(Codec.native(inner), store.pointer, threshold, out, error)
      end
      Codec::Wrapping.new(pointer, inner, store)
    end

    private

    def keyring(keys, write_with)
      ring = Native.made { |out, error| Native.acemq_keyring_new(out, error) }
      keys.each do |id, key|
        Native.check { |error| Native.acemq_keyring_add(ring, id, Native::Bytes.of(key), error) }
      end
      Native.check { |error| Native.acemq_keyring_write_with(ring, write_with, error) } if write_with
      ring
    rescue StandardError
      Native.acemq_keyring_free(ring) if ring
      raise
    end
  end
end
