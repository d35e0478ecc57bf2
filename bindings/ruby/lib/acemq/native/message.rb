# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_message_new, %i[pointer size_t], :address
    quick :acemq_message_json, [:string], :address
    quick :acemq_message_msgpack, %i[pointer size_t], :address
    waits :acemq_message_encoded, %i[pointer pointer size_t], :address
    quick :acemq_message_free, [:address], :void
    quick :acemq_message_check, %i[address pointer], :int
    quick :acemq_message_set_id, %i[address string], :void
    quick :acemq_message_set_type, %i[address string], :void
    quick :acemq_message_set_version, %i[address int32], :void
    quick :acemq_message_set_correlation, %i[address string], :void
    quick :acemq_message_set_causation, %i[address string], :void
    quick :acemq_message_set_origin, %i[address string], :void
    quick :acemq_message_caused_by, %i[address pointer], :void
    quick :acemq_message_set_headers, %i[address pointer], :void
    quick :acemq_message_set_content_type, %i[address string], :void
    quick :acemq_message_set_reply_to, %i[address string], :void
    quick :acemq_message_set_priority, %i[address int], :void
    quick :acemq_message_set_expiration, %i[address int64], :void
    quick :acemq_message_set_transient, [:address], :void

    # acemq_publisher_options
    class PublisherOptions < FFI::Struct
      layout :size, :size_t, :exchange, :pointer, :routing_key, :pointer, :cancel, :pointer, :timeout, :int64,
             :unconfirmed, :int32, :optional, :int32
    end

    quick :acemq_publisher_options_init, %i[pointer size_t], :int
    quick :acemq_publisher_new, %i[pointer pointer pointer pointer], :int
    quick :acemq_publisher_free, [:pointer], :void
    quick :acemq_publisher_has_room, %i[pointer size_t], :int
    waits :acemq_publisher_begin, %i[pointer string address int64 pointer pointer], :int
    waits :acemq_receipt_wait, %i[address int64 pointer], :int
    attach_function :receipt_look, :acemq_receipt_wait, %i[address int64 pointer], :int
    quick :acemq_receipt_free, [:address], :void
  end
end
