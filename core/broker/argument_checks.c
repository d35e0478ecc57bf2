#include "broker/argument_checks.h"

#include "broker/arguments.h"
#include "contract/table.h"

#include <amqp_framing.h>
#include <inttypes.h>
#include <stdio.h>

#define EXPIRY_MAX   INT64_C(315360000000) /* ten years in milliseconds */
#define PRIORITY_MAX 255

const char *ace_broker_field_kind_name(uint8_t kind)
{
    switch (kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return "bool";
    case AMQP_FIELD_KIND_I8:
        return "byte";
    case AMQP_FIELD_KIND_U8:
        return "unsignedbyte";
    case AMQP_FIELD_KIND_I16:
        return "short";
    case AMQP_FIELD_KIND_U16:
        return "unsignedshort";
    case AMQP_FIELD_KIND_I32:
        return "signedint";
    case AMQP_FIELD_KIND_U32:
        return "unsignedint";
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64:
        return "long";
    case AMQP_FIELD_KIND_F32:
        return "float";
    case AMQP_FIELD_KIND_F64:
        return "double";
    case AMQP_FIELD_KIND_DECIMAL:
        return "decimal";
    case AMQP_FIELD_KIND_UTF8:
        return "longstr";
    case AMQP_FIELD_KIND_BYTES:
        return "binary";
    case AMQP_FIELD_KIND_ARRAY:
        return "array";
    case AMQP_FIELD_KIND_TABLE:
        return "table";
    case AMQP_FIELD_KIND_TIMESTAMP:
        return "timestamp";
    case AMQP_FIELD_KIND_VOID:
        return "void";
    default:
        return "unknown";
    }
}

bool ace_broker_field_integer(const amqp_field_value_t *value, int64_t *integer)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_I8:
        *integer = value->value.i8;
        return true;
    case AMQP_FIELD_KIND_U8:
        *integer = value->value.u8;
        return true;
    case AMQP_FIELD_KIND_I16:
        *integer = value->value.i16;
        return true;
    case AMQP_FIELD_KIND_U16:
        *integer = value->value.u16;
        return true;
    case AMQP_FIELD_KIND_I32:
        *integer = value->value.i32;
        return true;
    case AMQP_FIELD_KIND_U32:
        *integer = value->value.u32;
        return true;
    case AMQP_FIELD_KIND_I64:
        *integer = value->value.i64;
        return true;
    case AMQP_FIELD_KIND_U64:
        *integer = (int64_t)value->value.u64;
        return true;
    default:
        return false;
    }
}

static bool is_text(const amqp_field_value_t *value, char *why, size_t size)
{
    if (value->kind == AMQP_FIELD_KIND_UTF8)
        return true;
    snprintf(why, size, "{unacceptable_type,%s}", ace_broker_field_kind_name(value->kind));
    return false;
}

static bool text_is(const amqp_field_value_t *value, const char *text)
{
    return ace_bytes_equal_text(ace_bytes_from_amqp(value->value.bytes), text);
}

static bool check_integer(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                          size_t size)
{
    int64_t integer;

    (void)arguments;
    if (ace_broker_field_integer(value, &integer))
        return true;
    snprintf(why, size, "\"expected integer, got %s\"", ace_broker_field_kind_name(value->kind));
    return false;
}

static bool check_not_negative(const amqp_field_value_t *value, const amqp_table_t *arguments,
                               char *why, size_t size)
{
    int64_t integer = 0;

    if (!check_integer(value, arguments, why, size))
        return false;
    ace_broker_field_integer(value, &integer);
    if (integer >= 0)
        return true;
    snprintf(why, size, "{value_negative,%" PRId64 "}", integer);
    return false;
}

static bool check_ttl(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                      size_t size)
{
    int64_t integer = 0;

    if (!check_not_negative(value, arguments, why, size))
        return false;
    ace_broker_field_integer(value, &integer);
    if (integer <= EXPIRY_MAX)
        return true;
    snprintf(why, size, "{value_too_large,%" PRId64 "}", integer);
    return false;
}

static bool check_not_zero(const amqp_field_value_t *value, const amqp_table_t *arguments,
                           char *why, size_t size)
{
    int64_t integer = 1;

    if (!check_integer(value, arguments, why, size))
        return false;
    ace_broker_field_integer(value, &integer);
    if (integer != 0)
        return true;
    snprintf(why, size, "{value_zero,0}");
    return false;
}

static bool check_expires(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                          size_t size)
{
    return check_not_zero(value, arguments, why, size) && check_ttl(value, arguments, why, size);
}

static bool check_group_size(const amqp_field_value_t *value, const amqp_table_t *arguments,
                             char *why, size_t size)
{
    return check_not_negative(value, arguments, why, size) &&
           check_not_zero(value, arguments, why, size);
}

static bool check_priority(const amqp_field_value_t *value, const amqp_table_t *arguments,
                           char *why, size_t size)
{
    int64_t integer = 0;

    if (!check_not_negative(value, arguments, why, size))
        return false;
    ace_broker_field_integer(value, &integer);
    if (integer <= PRIORITY_MAX)
        return true;
    snprintf(why, size, "{max_value_exceeded,%" PRId64 "}", integer);
    return false;
}

static bool check_text(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                       size_t size)
{
    (void)arguments;
    return is_text(value, why, size);
}

static bool check_dead_routing_key(const amqp_field_value_t *value, const amqp_table_t *arguments,
                                   char *why, size_t size)
{
    if (!is_text(value, why, size))
        return false;
    if (ace_table_find(arguments, "x-dead-letter-exchange"))
        return true;
    snprintf(why, size, "routing_key_but_no_dlx_defined");
    return false;
}

static bool check_strategy(const amqp_field_value_t *value, const amqp_table_t *arguments,
                           char *why, size_t size)
{
    (void)arguments;
    if (!is_text(value, why, size))
        return false;
    if (text_is(value, "at-most-once") || text_is(value, "at-least-once"))
        return true;
    snprintf(why, size, "invalid_dlx_strategy");
    return false;
}

static bool check_overflow(const amqp_field_value_t *value, const amqp_table_t *arguments,
                           char *why, size_t size)
{
    (void)arguments;
    if (!is_text(value, why, size))
        return false;
    if (text_is(value, "drop-head") || text_is(value, "reject-publish") ||
        text_is(value, "reject-publish-dlx"))
        return true;
    snprintf(why, size, "invalid_overflow");
    return false;
}

static bool check_mode(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                       size_t size)
{
    (void)arguments;
    if (!is_text(value, why, size))
        return false;
    if (text_is(value, "default") || text_is(value, "lazy"))
        return true;
    snprintf(why, size, "\"unsupported queue mode '%.*s'\"",
             ACE_TEXT(ace_bytes_from_amqp(value->value.bytes)));
    return false;
}

static bool check_version(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                          size_t size)
{
    int64_t integer = 0;

    if (!check_not_negative(value, arguments, why, size))
        return false;
    ace_broker_field_integer(value, &integer);
    if (integer == 1 || integer == 2)
        return true;
    snprintf(why, size, "\"unsupported queue version '%" PRId64 "'\"", integer);
    return false;
}

static bool check_bool(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                       size_t size)
{
    (void)arguments;
    if (value->kind == AMQP_FIELD_KIND_BOOLEAN)
        return true;
    snprintf(why, size, "{unacceptable_type,%s}", ace_broker_field_kind_name(value->kind));
    return false;
}

static bool check_kind(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                       size_t size)
{
    (void)arguments;
    if (!is_text(value, why, size))
        return false;
    if (text_is(value, "classic") || text_is(value, "quorum") || text_is(value, "stream"))
        return true;
    snprintf(why, size, "\"unsupported queue type '%.*s'\"",
             ACE_TEXT(ace_bytes_from_amqp(value->value.bytes)));
    return false;
}

static bool check_locator(const amqp_field_value_t *value, const amqp_table_t *arguments, char *why,
                          size_t size)
{
    (void)arguments;
    if (!is_text(value, why, size))
        return false;
    if (text_is(value, "client-local") || text_is(value, "balanced"))
        return true;
    snprintf(why, size, "invalid_queue_locator_arg");
    return false;
}

/* In the order RabbitMQ checks them. It takes any x-delivery-limit, and never applies one that is
 * no number; here that is refused. */
const ace_broker_argument_rule ace_broker_queue_rules[] = {
    {"x-expires", check_expires},
    {"x-message-ttl", check_ttl},
    {"x-dead-letter-exchange", check_text},
    {"x-dead-letter-routing-key", check_dead_routing_key},
    {"x-dead-letter-strategy", check_strategy},
    {"x-max-length", check_not_negative},
    {"x-max-length-bytes", check_not_negative},
    {"x-max-in-memory-length", check_not_negative},
    {"x-max-in-memory-bytes", check_not_negative},
    {"x-max-priority", check_priority},
    {"x-overflow", check_overflow},
    {"x-queue-mode", check_mode},
    {"x-queue-version", check_version},
    {"x-single-active-consumer", check_bool},
    {"x-quorum-initial-group-size", check_group_size},
    {"x-queue-leader-locator", check_locator},
    {"x-delivery-limit", check_not_negative},
    {NULL, NULL},
};

const ace_broker_argument_rule ace_broker_queue_kind_rule = {"x-queue-type", check_kind};
const ace_broker_argument_rule ace_broker_consumer_priority_rule = {"x-priority", check_integer};
const ace_broker_argument_rule ace_broker_consumer_failover_rule = {"x-cancel-on-ha-failover",
                                                                    check_bool};

bool ace_broker_argument_rule_apply(const ace_broker_argument_rule *rule,
                                    const amqp_table_t *arguments, const char *resource,
                                    ace_broker_fault *fault)
{
    char why[320];
    const amqp_field_value_t *value = ace_table_find(arguments, rule->name);

    if (!value || rule->check(value, arguments, why, sizeof(why)))
        return true;
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "invalid arg '%s' for %s: %s",
                             rule->name, resource, why);
}
