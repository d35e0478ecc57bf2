#include "broker/arguments.h"

#include "broker/argument_checks.h"
#include "contract/table.h"

#include <amqp_framing.h>

static const char *const classic_arguments[] = {"x-expires",
                                                "x-message-ttl",
                                                "x-dead-letter-exchange",
                                                "x-dead-letter-routing-key",
                                                "x-max-length",
                                                "x-max-length-bytes",
                                                "x-max-priority",
                                                "x-overflow",
                                                "x-queue-mode",
                                                "x-queue-version",
                                                "x-single-active-consumer",
                                                "x-queue-type",
                                                "x-queue-master-locator",
                                                NULL};

static const char *const quorum_arguments[] = {"x-dead-letter-exchange",
                                               "x-dead-letter-routing-key",
                                               "x-dead-letter-strategy",
                                               "x-expires",
                                               "x-max-length",
                                               "x-max-length-bytes",
                                               "x-max-in-memory-length",
                                               "x-max-in-memory-bytes",
                                               "x-overflow",
                                               "x-single-active-consumer",
                                               "x-queue-type",
                                               "x-quorum-initial-group-size",
                                               "x-delivery-limit",
                                               "x-message-ttl",
                                               "x-queue-leader-locator",
                                               NULL};

static const char *const stream_arguments[] = {"x-max-length-bytes",
                                               "x-queue-type",
                                               "x-max-age",
                                               "x-stream-max-segment-size-bytes",
                                               "x-initial-cluster-size",
                                               "x-queue-leader-locator",
                                               NULL};

const char *const *ace_broker_queue_argument_names(ace_broker_queue_kind kind)
{
    return kind == ACE_QUEUE_QUORUM ? quorum_arguments : classic_arguments;
}

static bool holds(const char *const *names, ace_bytes name)
{
    for (; *names; names++) {
        if (ace_bytes_equal_text(name, *names))
            return true;
    }
    return false;
}

/* Arguments that some other kind of queue has, and this one has not. Unknown ones are nobody's
 * business. */
static bool refuse_foreign(const amqp_table_t *arguments, const char *const *own,
                           const char *kind_name, const char *resource, ace_broker_fault *fault)
{
    for (int i = 0; i < arguments->num_entries; i++) {
        ace_bytes name = ace_bytes_from_amqp(arguments->entries[i].key);

        if (holds(own, name))
            continue;
        if (holds(classic_arguments, name) || holds(quorum_arguments, name) ||
            holds(stream_arguments, name))
            return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                     "invalid arg '%.*s' for %s of queue type %s", ACE_TEXT(name),
                                     resource, kind_name);
    }
    return true;
}

static int64_t integer_or_unset(const amqp_table_t *arguments, const char *name)
{
    int64_t integer = ACE_UNSET;
    const amqp_field_value_t *value = ace_table_find(arguments, name);

    if (value)
        ace_broker_field_integer(value, &integer);
    return integer;
}

static ace_bytes text_or_none(const amqp_table_t *arguments, const char *name)
{
    const amqp_field_value_t *value = ace_table_find(arguments, name);

    if (!value || value->kind != AMQP_FIELD_KIND_UTF8)
        return (ace_bytes){NULL, 0};
    /* An empty name is a name: the default exchange. */
    if (value->value.bytes.len == 0)
        return (ace_bytes){(const uint8_t *)"", 0};
    return ace_bytes_from_amqp(value->value.bytes);
}

static void read_settings(const amqp_table_t *arguments, ace_broker_queue_settings *settings)
{
    ace_bytes overflow = text_or_none(arguments, "x-overflow");
    ace_bytes strategy = text_or_none(arguments, "x-dead-letter-strategy");
    const amqp_field_value_t *single = ace_table_find(arguments, "x-single-active-consumer");

    settings->message_ttl = integer_or_unset(arguments, "x-message-ttl");
    settings->expires = integer_or_unset(arguments, "x-expires");
    settings->max_length = integer_or_unset(arguments, "x-max-length");
    settings->max_bytes = integer_or_unset(arguments, "x-max-length-bytes");
    settings->max_priority = integer_or_unset(arguments, "x-max-priority");
    settings->delivery_limit = integer_or_unset(arguments, "x-delivery-limit");
    settings->overflow = ACE_OVERFLOW_DROP_HEAD;
    if (ace_bytes_equal_text(overflow, "reject-publish"))
        settings->overflow = ACE_OVERFLOW_REJECT;
    /* A quorum queue knows two ways only and falls back to the default. */
    else if (ace_bytes_equal_text(overflow, "reject-publish-dlx") &&
             settings->kind == ACE_QUEUE_CLASSIC)
        settings->overflow = ACE_OVERFLOW_REJECT_DEAD_LETTER;
    settings->single_active = single && single->value.boolean;
    settings->dead_exchange = text_or_none(arguments, "x-dead-letter-exchange");
    settings->dead_routing_key = text_or_none(arguments, "x-dead-letter-routing-key");
    settings->at_least_once = settings->dead_exchange.data &&
                              settings->overflow == ACE_OVERFLOW_REJECT &&
                              ace_bytes_equal_text(strategy, "at-least-once");
}

bool ace_broker_queue_arguments_read(const amqp_table_t *arguments, const char *resource,
                                     ace_broker_queue_settings *settings, ace_broker_fault *fault)
{
    const amqp_field_value_t *exchange = ace_table_find(arguments, "x-dead-letter-exchange");
    const char *const *own = classic_arguments;
    const char *kind_name = "rabbit_classic_queue";

    if (exchange && exchange->kind != AMQP_FIELD_KIND_UTF8)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "invalid type '%s' for arg 'x-dead-letter-exchange' in %s",
                                 ace_broker_field_kind_name(exchange->kind), resource);
    if (!ace_broker_argument_rule_apply(&ace_broker_queue_kind_rule, arguments, resource, fault))
        return false;

    ace_bytes kind = text_or_none(arguments, "x-queue-type");

    if (ace_bytes_equal_text(kind, "stream"))
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED,
                                 "%s: streams are not served by the memory broker", resource);
    settings->kind = ACE_QUEUE_CLASSIC;
    if (ace_bytes_equal_text(kind, "quorum")) {
        settings->kind = ACE_QUEUE_QUORUM;
        own = quorum_arguments;
        kind_name = "rabbit_quorum_queue";
    }
    for (const ace_broker_argument_rule *rule = ace_broker_queue_rules; rule->name; rule++) {
        if (holds(own, ace_bytes_of(rule->name)) &&
            !ace_broker_argument_rule_apply(rule, arguments, resource, fault))
            return false;
    }
    if (!refuse_foreign(arguments, own, kind_name, resource, fault))
        return false;
    read_settings(arguments, settings);
    return true;
}

bool ace_broker_consume_arguments_read(const amqp_table_t *arguments, const char *resource,
                                       ace_broker_queue_kind kind, int64_t *priority,
                                       ace_broker_fault *fault)
{
    bool classic = kind == ACE_QUEUE_CLASSIC;
    const char *foreign[] = {"x-stream-offset", classic ? NULL : "x-cancel-on-ha-failover"};

    if (!ace_broker_argument_rule_apply(&ace_broker_consumer_priority_rule, arguments, resource,
                                        fault) ||
        (classic && !ace_broker_argument_rule_apply(&ace_broker_consumer_failover_rule, arguments,
                                                    resource, fault)))
        return false;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        if (foreign[i] && ace_table_find(arguments, foreign[i]))
            return ace_broker_refuse(
                fault, AMQP_PRECONDITION_FAILED, "invalid arg '%s' for %s of queue type %s",
                foreign[i], resource, classic ? "rabbit_classic_queue" : "rabbit_quorum_queue");
    }
    *priority = 0;

    const amqp_field_value_t *value = ace_table_find(arguments, "x-priority");

    if (value)
        ace_broker_field_integer(value, priority);
    return true;
}
