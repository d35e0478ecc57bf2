#include "contract/table.h"

static ace_code set(ace_table *table, const char *name, amqp_field_value_t value, ace_error **error)
{
    return ace_table_set(table, ace_bytes_of(name), &value, error);
}

static amqp_field_value_t of_kind(amqp_field_value_kind_t kind)
{
    return (amqp_field_value_t){.kind = (uint8_t)kind};
}

ace_code ace_table_set_bool(ace_table *table, const char *name, bool value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_BOOLEAN);
    field.value.boolean = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_int8(ace_table *table, const char *name, int8_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_I8);
    field.value.i8 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_uint8(ace_table *table, const char *name, uint8_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_U8);
    field.value.u8 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_int16(ace_table *table, const char *name, int16_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_I16);
    field.value.i16 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_uint16(ace_table *table, const char *name, uint16_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_U16);
    field.value.u16 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_int32(ace_table *table, const char *name, int32_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_I32);
    field.value.i32 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_uint32(ace_table *table, const char *name, uint32_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_U32);
    field.value.u32 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_int64(ace_table *table, const char *name, int64_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_I64);
    field.value.i64 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_uint64(ace_table *table, const char *name, uint64_t value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_U64);
    field.value.u64 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_float(ace_table *table, const char *name, float value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_F32);
    field.value.f32 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_double(ace_table *table, const char *name, double value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_F64);
    field.value.f64 = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_decimal(ace_table *table, const char *name, uint8_t decimals, uint32_t value,
                               ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_DECIMAL);
    field.value.decimal.decimals = decimals;
    field.value.decimal.value = value;
    return set(table, name, field, error);
}

ace_code ace_table_set_text(ace_table *table, const char *name, const char *value,
                            ace_error **error)
{
    return ace_table_set_longstr(table, name, ace_bytes_of(value), error);
}

ace_code ace_table_set_longstr(ace_table *table, const char *name, ace_bytes value,
                               ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_UTF8);
    field.value.bytes = ace_bytes_to_amqp(value);
    return set(table, name, field, error);
}

ace_code ace_table_set_bytes(ace_table *table, const char *name, ace_bytes value, ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_BYTES);
    field.value.bytes = ace_bytes_to_amqp(value);
    return set(table, name, field, error);
}

ace_code ace_table_set_timestamp(ace_table *table, const char *name, uint64_t seconds,
                                 ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_TIMESTAMP);
    field.value.u64 = seconds;
    return set(table, name, field, error);
}

ace_code ace_table_set_void(ace_table *table, const char *name, ace_error **error)
{
    return set(table, name, of_kind(AMQP_FIELD_KIND_VOID), error);
}

ace_code ace_table_set_table(ace_table *table, const char *name, const amqp_table_t *value,
                             ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_TABLE);
    field.value.table = *value;
    return set(table, name, field, error);
}

ace_code ace_table_set_array(ace_table *table, const char *name, const amqp_array_t *value,
                             ace_error **error)
{
    amqp_field_value_t field = of_kind(AMQP_FIELD_KIND_ARRAY);
    field.value.array = *value;
    return set(table, name, field, error);
}
