# frozen_string_literal: true

module AceMQ
  module Native
    quick :acemq_table_new, [], :pointer
    quick :acemq_table_free, [:pointer], :void
    quick :acemq_table_set_string_bytes, [:pointer, :string, Bytes.by_value, :pointer], :int
    quick :acemq_table_set_bytes, [:pointer, :string, Bytes.by_value, :pointer], :int
    quick :acemq_table_set_integer, %i[pointer string int int64 pointer], :int
    quick :acemq_table_set_bool, %i[pointer string int pointer], :int
    quick :acemq_table_set_double, %i[pointer string double pointer], :int
    quick :acemq_table_set_float, %i[pointer string float pointer], :int
    quick :acemq_table_set_decimal, %i[pointer string uint8 uint32 pointer], :int
    quick :acemq_table_set_timestamp, %i[pointer string int64 pointer], :int
    quick :acemq_table_set_void, %i[pointer string pointer], :int
    quick :acemq_table_set_table, %i[pointer string pointer pointer], :int
    quick :acemq_table_set_array, %i[pointer string pointer pointer], :int
    quick :acemq_array_new, [], :pointer
    quick :acemq_array_free, [:pointer], :void
    quick :acemq_array_append, %i[pointer pointer pointer], :int
    quick :acemq_table_count, [:pointer], :size_t
    quick :acemq_table_name, %i[pointer size_t], :string
    quick :acemq_table_at, %i[pointer size_t], :pointer
    quick :acemq_table_get, %i[pointer string], :pointer
    quick :acemq_value_kind, [:pointer], :int
    quick :acemq_value_integer, %i[pointer pointer], :int
    quick :acemq_value_unsigned, %i[pointer pointer], :int
    quick :acemq_value_double, %i[pointer pointer], :int
    quick :acemq_value_decimal, %i[pointer pointer pointer], :int
    quick :acemq_value_bytes, %i[pointer pointer], :int
    quick :acemq_value_count, [:pointer], :size_t
    quick :acemq_value_at, %i[pointer size_t pointer], :pointer
  end
end
