/* Whether a declaration says what is there already. */
#include "broker/arguments.h"
#include "contract/table.h"

#include <amqp_framing.h>
#include <inttypes.h>
#include <stdio.h>

#define VALUE_TEXT_SIZE 300
#define QUOTED_SIZE     (VALUE_TEXT_SIZE + 64) /* with what is written around it */

/* Integers of all widths are one class to RabbitMQ, and so are the two floats. */
static bool value_number(const amqp_field_value_t *value, double *number)
{
    if (value->kind == AMQP_FIELD_KIND_F32)
        *number = (double)value->value.f32;
    else if (value->kind == AMQP_FIELD_KIND_F64)
        *number = value->value.f64;
    else
        return false;
    return true;
}

static bool is_string(const amqp_field_value_t *value)
{
    return value->kind == AMQP_FIELD_KIND_UTF8 || value->kind == AMQP_FIELD_KIND_BYTES;
}

static bool same_value(const amqp_field_value_t *a, const amqp_field_value_t *b)
{
    int64_t integer_a;
    int64_t integer_b;
    double number_a;
    double number_b;

    if (ace_broker_field_integer(a, &integer_a) && ace_broker_field_integer(b, &integer_b))
        return integer_a == integer_b;
    if (value_number(a, &number_a) && value_number(b, &number_b))
        return number_a <= number_b && number_a >= number_b;
    if (is_string(a) && is_string(b))
        return ace_bytes_equal(ace_bytes_from_amqp(a->value.bytes),
                               ace_bytes_from_amqp(b->value.bytes));
    return ace_value_equal(a, b);
}

static void value_text(const amqp_field_value_t *value, char *text, size_t size)
{
    int64_t integer;
    double number;

    if (ace_broker_field_integer(value, &integer))
        snprintf(text, size, "%" PRId64, integer);
    else if (value_number(value, &number))
        snprintf(text, size, "%g", number);
    else if (value->kind == AMQP_FIELD_KIND_BOOLEAN)
        snprintf(text, size, "%s", value->value.boolean ? "true" : "false");
    else if (is_string(value))
        snprintf(text, size, "%.*s", ACE_TEXT(ace_bytes_from_amqp(value->value.bytes)));
    else
        snprintf(text, size, "%s", ace_broker_field_kind_name(value->kind));
}

/* "none", or "the value '5' of type 'signedint'" */
static void value_with_kind(const amqp_field_value_t *value, char *text, size_t size)
{
    char plain[VALUE_TEXT_SIZE];

    if (!value) {
        snprintf(text, size, "none");
        return;
    }
    value_text(value, plain, sizeof(plain));
    snprintf(text, size, "the value '%s' of type '%s'", plain,
             ace_broker_field_kind_name(value->kind));
}

static bool refuse_difference(const char *name, const char *resource, const char *received,
                              const char *current, ace_broker_fault *fault)
{
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                             "inequivalent arg '%s' for %s: received %s but current is %s", name,
                             resource, received, current);
}

static bool refuse_quoted(const char *name, const char *resource, const char *received,
                          const char *current, ace_broker_fault *fault)
{
    char quoted_received[QUOTED_SIZE];
    char quoted_current[QUOTED_SIZE];

    snprintf(quoted_received, sizeof(quoted_received), "'%s'", received);
    snprintf(quoted_current, sizeof(quoted_current), "'%s'", current);
    return refuse_difference(name, resource, quoted_received, quoted_current, fault);
}

bool ace_broker_declared_text_match(const char *current, const char *received, const char *name,
                                    const char *resource, ace_broker_fault *fault)
{
    if (ace_bytes_equal(ace_bytes_of(current), ace_bytes_of(received)))
        return true;
    return refuse_quoted(name, resource, received, current, fault);
}

bool ace_broker_declared_flag_match(bool current, bool received, const char *name,
                                    const char *resource, ace_broker_fault *fault)
{
    return ace_broker_declared_text_match(current ? "true" : "false", received ? "true" : "false",
                                          name, resource, fault);
}

bool ace_broker_argument_match(const amqp_table_t *current, const amqp_table_t *received,
                               const char *name, const char *resource, ace_broker_fault *fault)
{
    char text_received[QUOTED_SIZE - 4];
    char text_current[QUOTED_SIZE - 4];
    const amqp_field_value_t *is = ace_table_find(current, name);
    const amqp_field_value_t *wanted = ace_table_find(received, name);

    if (!is && !wanted)
        return true;
    if (is && wanted) {
        if (same_value(is, wanted))
            return true;
        value_text(wanted, text_received, VALUE_TEXT_SIZE);
        value_text(is, text_current, VALUE_TEXT_SIZE);
        return refuse_quoted(name, resource, text_received, text_current, fault);
    }
    value_with_kind(wanted, text_received, sizeof(text_received));
    value_with_kind(is, text_current, sizeof(text_current));
    return refuse_difference(name, resource, text_received, text_current, fault);
}

/* Saying classic and saying nothing are the same. */
static bool is_classic(const amqp_table_t *arguments)
{
    const amqp_field_value_t *value = ace_table_find(arguments, "x-queue-type");

    return !value || (value->kind == AMQP_FIELD_KIND_UTF8 &&
                      ace_bytes_equal_text(ace_bytes_from_amqp(value->value.bytes), "classic"));
}

bool ace_broker_queue_arguments_match(const amqp_table_t *current, const amqp_table_t *received,
                                      ace_broker_queue_kind kind, const char *resource,
                                      ace_broker_fault *fault)
{
    for (const char *const *name = ace_broker_queue_argument_names(kind); *name; name++) {
        bool is_kind = ace_bytes_equal_text(ace_bytes_of(*name), "x-queue-type");

        if (is_kind && is_classic(current) && is_classic(received))
            continue;
        if (!ace_broker_argument_match(current, received, *name, resource, fault))
            return false;
    }
    return true;
}
