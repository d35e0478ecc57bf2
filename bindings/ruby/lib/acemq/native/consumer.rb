# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_consumer_options
    class ConsumerOptions < FFI::Struct
      layout :size, :size_t, :retry, :pointer, :codec, :pointer, :arguments, :pointer, :tag, :pointer,
             :cancel, :pointer, :timeout, :int64, :prefetch_bytes, :int64, :acknowledgement_limit, :int64,
             :prefetch, :int32, :declare, :int32, :requeue_on_failure, :int32, :exclusive, :int32,
             :idempotency, :pointer, :lease, :int64, :put_back_wait, :int64, :claim_key, :pointer,
             :claim_key_user, :pointer, :renew, :int32, :reserved_claims, :int32
    end

    # acemq_consumer_counters
    class ConsumerCounters < FFI::Struct
      NAMES = %i[acknowledged rejected retried dead_lettered parked duplicates in_flight waiting delivered hops_failed
                 rungs_missing in_progress store_failures fenced unconfirmed].freeze
      layout :size, :size_t, *NAMES.flat_map { |name| [name, :uint64] }
    end

    quick :acemq_consumer_options_init, %i[pointer size_t], :int
    waits :acemq_consumer_open, %i[pointer string pointer pointer pointer], :int
    # Messages are taken without waiting, and waited for on the descriptor; a store or a codec that opens files may
    # take its time all the same, and is given the slow way.
    quick :acemq_consumer_next, %i[pointer int64 pointer pointer], :int
    attach_function :slow_consumer_next, :acemq_consumer_next, %i[pointer int64 pointer pointer], :int, blocking: true
    quick :acemq_consumer_fd, [:pointer], :int
    quick :acemq_consumer_wake, [:pointer], :void
    waits :acemq_consumer_drain, %i[pointer int64 pointer pointer], :int
    waits :acemq_consumer_close, %i[pointer pointer], :int
    waits :acemq_consumer_free, [:pointer], :void
    quick :acemq_consumer_pause, %i[pointer pointer], :int
    quick :acemq_consumer_resume, %i[pointer pointer], :int
    quick :acemq_consumer_paused, [:pointer], :int
    quick :acemq_consumer_set_prefetch, %i[pointer int64 pointer], :int
    quick :acemq_consumer_prefetch, [:pointer], :int64
    quick :acemq_consumer_get_work, %i[pointer pointer pointer], :int
    quick :acemq_consumer_get_counters, %i[pointer pointer pointer], :int
    quick :acemq_consumer_subscribed, [:pointer], :int

    quick :acemq_delivery_envelope, [:pointer], :pointer
    quick :acemq_delivery_body, [:pointer], Bytes.by_value
    quick :acemq_delivery_headers, [:pointer], :pointer
    quick :acemq_delivery_all_headers, [:pointer], :pointer
    quick :acemq_delivery_queue, [:pointer], :string
    quick :acemq_delivery_exchange, [:pointer], :string
    quick :acemq_delivery_routing_key, [:pointer], :string
    quick :acemq_delivery_redelivered, [:pointer], :int
    quick :acemq_delivery_property, %i[pointer int], :string
    quick :acemq_delivery_property_number, %i[pointer int pointer], :int
    quick :acemq_delivery_settle, %i[pointer int string pointer], :int
    attach_function :slow_delivery_settle, :acemq_delivery_settle, %i[pointer int string pointer], :int, blocking: true
    quick :acemq_delivery_put_back, %i[pointer pointer], :int
    quick :acemq_delivery_free, [:pointer], :void

    %i[id type correlation causation origin error claim replayed_from reply_to route_id].each do |name|
      quick :"acemq_envelope_#{name}", [:pointer], :string
    end
    %i[version attempt replay_count route_position].each { |name| quick :"acemq_envelope_#{name}", [:pointer], :int32 }
    quick :acemq_envelope_first_seen, [:pointer], :int64
    quick :acemq_envelope_replayed_at, %i[pointer pointer], :int
    quick :acemq_envelope_route_count, [:pointer], :size_t
    quick :acemq_envelope_route_step, %i[pointer size_t], :string
    quick :acemq_envelope_id_is_made_up, [:pointer], :int
  end
end
