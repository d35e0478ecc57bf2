# frozen_string_literal: true

module AceMQ
  module Native
    # acemq_connect_options
    class ConnectOptions < FFI::Struct
      layout :size, :size_t, :name, :pointer, :timeout, :int64, :call_timeout, :int64, :heartbeat, :int64,
             :reconnect_initial, :int64, :reconnect_max, :int64, :outstanding, :int64, :publish_timeout, :int64,
             :max_body, :int64, :frame_max, :int32, :channel_max, :int32, :credentials, :int32, :log_level, :int32,
             :credentials_file, :pointer, :user_variable, :pointer, :password_variable, :pointer,
             :credentials_callback, :pointer, :credentials_user, :pointer, :log_callback, :pointer,
             :log_user, :pointer, :cancel, :pointer, :events, :uint64, :max_queued, :int64, :max_output, :int64,
             :max_headers, :int64, :max_header_entries, :int32, :max_nesting, :int32, :ca_file, :pointer,
             :ca_folder, :pointer, :certificate_file, :pointer, :key_file, :pointer, :key_password, :pointer,
             :server_name, :pointer, :verify, :int32, :keepalive_count, :int32, :keepalive, :int64,
             :keepalive_interval, :int64, :tcp_user_timeout, :int64
    end

    quick :acemq_connect_options_init, %i[pointer size_t], :int
    waits :acemq_connect, %i[string pointer pointer pointer], :int
    waits :acemq_connection_close_naming, %i[pointer int64 pointer pointer], :int
    waits :acemq_connection_free, [:pointer], :void
    quick :acemq_connection_get_state, %i[pointer pointer], :int
    quick :acemq_connection_pause_publishing, %i[pointer pointer], :int
    quick :acemq_connection_resume_publishing, %i[pointer pointer], :int
    quick :acemq_connection_publishing_paused, [:pointer], :int
    quick :acemq_connection_next_event, %i[pointer int64 pointer pointer], :int
    quick :acemq_connection_event_fd, [:pointer], :int
    quick :acemq_connection_give_credentials, %i[pointer string string pointer], :int

    quick :acemq_event_get_kind, [:pointer], :int
    quick :acemq_event_number, [:pointer], :int64
    quick :acemq_event_text, [:pointer], :string
    quick :acemq_event_error, [:pointer], :pointer
    quick :acemq_event_next_try, [:pointer], :int64
    quick :acemq_event_settlement, [:pointer], :pointer
    quick :acemq_event_observation, [:pointer], :pointer
    quick :acemq_event_free, [:pointer], :void

    quick :acemq_work_count, [:pointer], :size_t
    quick :acemq_work_queue, %i[pointer size_t], :string
    quick :acemq_work_id, %i[pointer size_t], :string
    quick :acemq_work_running, %i[pointer size_t], :int64
    quick :acemq_work_free, [:pointer], :void

    quick :acemq_health_check, %i[pointer pointer pointer pointer], :int
  end
end
