# frozen_string_literal: true

require "json"

module AceMQ
  module Native
    quick :acemq_codec_builtin, [:string], :pointer
    quick :acemq_codec_content_type, [:pointer], :string
    quick :acemq_codec_free, [:pointer], :void
  end

  # How payloads become bodies and back. A consumer's codec looks at each body before the handler: one that does not
  # decode is parked, and no handler sees it.
  #
  # A codec of your own is any object with +dump(payload)+, which returns the bytes, +load(bytes, content_type)+, and
  # +content_type+. What +load+ raises parks the message.
  module Codec
    # JSON: hashes, arrays, strings, numbers, true, false, nil.
    module JSONCodec
      module_function

      def builtin = "json"

      def dump(payload)
        ::JSON.generate(payload)
      end

      def load(bytes)
        ::JSON.parse(bytes, max_nesting: false)
      end

      def message(text) = Native.acemq_message_json(text)
    end

    # UTF-8 text.
    module Text
      module_function

      def builtin = "text"

      def dump(payload) = payload.to_s.encode(Encoding::UTF_8)

      def load(bytes) = bytes.force_encoding(Encoding::UTF_8)

      def message(text) = Codec.plain(text, "text/plain; charset=utf-8")
    end

    # Any bytes, as a String in binary.
    module Bytes
      module_function

      def builtin = "bytes"

      def dump(payload) = payload.to_s

      def load(bytes) = bytes

      def message(bytes) = Native.acemq_message_new(bytes, bytes.bytesize)
    end

    # MessagePack, by the msgpack gem, which is loaded when this is used first.
    module MessagePackCodec
      module_function

      def builtin = "msgpack"

      def dump(payload) = gem.pack(payload)

      def load(bytes) = gem.unpack(bytes)

      def message(bytes) = Native.acemq_message_msgpack(bytes, bytes.bytesize)

      def gem
        require "msgpack"
        ::MessagePack
      rescue LoadError
        raise Unsupported.new("the codec msgpack needs the gem msgpack", field: "codec")
      end
    end

    # A codec of the application's: an object with dump, load and content_type.
    class Own
      attr_reader :codec

      def initialize(codec) = @codec = codec

      def builtin = "bytes"

      def dump(payload) = @codec.dump(payload).to_s

      def load(bytes, content_type) = @codec.load(bytes, content_type)

      def message(bytes) = Codec.plain(bytes, @codec.content_type)
    end

    BUILTIN = { json: JSONCodec, text: Text, bytes: Bytes, msgpack: MessagePackCodec }.freeze

    module_function

    # @api private
    def of(codec)
      case codec
      when Symbol, String
        BUILTIN.fetch(codec.to_sym) do
          raise InvalidArgument.new("codec #{codec} is none of #{BUILTIN.keys.join(', ')}", field: "codec")
        end
      when *BUILTIN.values, Own then codec
      else of_object(codec)
      end
    end

    # @api private
    def of_object(codec)
      return codec if codec.respond_to?(:native)
      return Own.new(codec) if %i[dump load content_type].all? { |name| codec.respond_to?(name) }

      raise InvalidArgument.new("a codec has dump, load and content_type", field: "codec")
    end

    # The library's codec for a consumer with this one.
    # @api private
    def native(codec)
      codec.respond_to?(:native) ? codec.native.pointer : Native.acemq_codec_builtin(codec.builtin)
    end

    # @api private
    def plain(bytes, content_type)
      message = Native.acemq_message_new(bytes, bytes.bytesize)
      Native.acemq_message_set_content_type(message, content_type)
      message
    end
  end
end
