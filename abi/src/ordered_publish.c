/* Which partition queue a message goes to, and publishing there. */
#include "acemq/ordered.h"
#include "acemq/publisher.h"

#include "arguments.h"
#include "contract/names.h"
#include "contract/partition.h"
#include "message.h"

#include <inttypes.h>
#include <string.h>

#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_partitioning, rule)

static const acemq_partitioning defaults = ACEMQ_PARTITIONING_INIT;

acemq_status acemq_partitioning_init(acemq_partitioning *partitioning, size_t size)
{
    return (acemq_status)ace_options_fill(partitioning, size, &defaults, sizeof defaults,
                                          FIRST_RELEASE, "partitioning", NULL);
}

int acemq_partition_rule_named(const char *name)
{
    ace_partition_rule rule;
    return name != NULL && ace_partition_rule_parse(name, &rule) ? (int)rule : -1;
}

static ace_code read_partitioning(const acemq_partitioning *given, acemq_partitioning *read,
                                  ace_error **error)
{
    *read = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, read, "partitioning", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(read->header, "header", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read->partitions, 1, ACE_PARTITIONS_MAX, "partitions", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read->rule, ACEMQ_PARTITION_UNSIGNED, ACEMQ_PARTITION_MASKED,
                                  "rule", error);
    }
    return code;
}

static ace_code key_of_header(const acemq_message *message, const char *name, ace_bytes *key,
                              ace_error **error)
{
    const amqp_field_value_t *value = ace_table_find(&message->headers.table, name);
    if (value != NULL &&
        (value->kind == AMQP_FIELD_KIND_UTF8 || value->kind == AMQP_FIELD_KIND_BYTES)) {
        *key = ace_bytes_from_amqp(value->value.bytes);
        return ACE_OK;
    }
    ace_code code =
        ace_fail(error, ACE_INVALID_ARGUMENT, "header %.200s, which is to hold the key, is %s",
                 name, value == NULL ? "absent" : "no text");
    ace_error_field(error, name, 0);
    return code;
}

static ace_code find_key(const acemq_partitioning *by, acemq_bytes given,
                         const acemq_message *message, ace_bytes *key, ace_error **error)
{
    if (given.data != NULL) {
        *key = ace_bytes_from_public(given);
        return ACE_OK;
    }
    if (message == NULL || (by->header == NULL && by->key == NULL)) {
        ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "key is NULL");
        ace_error_field(error, "key", 0);
        return code;
    }
    if (by->header != NULL) {
        return key_of_header(message, by->header, key, error);
    }
    acemq_bytes own = by->key(message, by->user);
    if (own.data == NULL) {
        ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "the key function gave no key");
        ace_error_field(error, "key", 0);
        return code;
    }
    *key = ace_bytes_from_public(own);
    return ACE_OK;
}

acemq_status acemq_ordered_queue(const char *name, const acemq_partitioning *partitioning,
                                 acemq_bytes key, const acemq_message *message,
                                 char queue[ACEMQ_NAME_SIZE], acemq_error **error)
{
    acemq_partitioning by;
    ace_bytes bytes = {NULL, 0};
    ace_name made;
    ace_code code = ace_argument_text(name, "name", error);
    if (code == ACE_OK) {
        code = ace_argument_bytes(key, "key", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(queue, "queue", error);
    }
    if (code == ACE_OK) {
        code = read_partitioning(partitioning, &by, error);
    }
    if (code == ACE_OK) {
        code = find_key(&by, key, message, &bytes, error);
    }
    if (code == ACE_OK) {
        uint32_t partition =
            ace_partition_of(bytes, (uint32_t)by.partitions, (ace_partition_rule)by.rule);
        code = ace_name_partition(name, (int32_t)partition, &made, error);
    }
    if (code == ACE_OK) {
        memcpy(queue, made.text, strlen(made.text) + 1);
    }
    return (acemq_status)code;
}

acemq_status acemq_ordered_publish(acemq_connection *connection, const char *name,
                                   const acemq_partitioning *partitioning, acemq_bytes key,
                                   const acemq_message *message, int64_t timeout,
                                   acemq_error **error)
{
    char queue[ACEMQ_NAME_SIZE];
    ace_code code = ace_argument_present(message, "message", error);
    if (code == ACE_OK) {
        code = (ace_code)acemq_ordered_queue(name, partitioning, key, message, queue, error);
    }
    return code == ACE_OK ? acemq_publish(connection, queue, message, timeout, error)
                          : (acemq_status)code;
}
