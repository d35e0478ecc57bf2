#include "acemq/outbox.h"

#include "arguments.h"
#include "engine/waiter.h"
#include "outbox_record.h"
#include "store/outbox.h"

#include <string.h>

#define FIRST_RELEASE        ACE_SIZE_UP_TO(acemq_outbox_options, reserved)
#define COUNTS_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_outbox_counts, reserved)

static const acemq_outbox_options defaults = ACEMQ_OUTBOX_OPTIONS_INIT;

acemq_status acemq_outbox_options_init(acemq_outbox_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code read_options(const acemq_outbox_options *given, acemq_outbox_options *options,
                             ace_outbox_options *inner, ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(options->name, "name", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(options->timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->attempts, 1, INT32_MAX, "attempts", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->reserved, 0, 0, "reserved", error);
    }
    *inner = (ace_outbox_options){.name = options->name, .attempts = options->attempts};
    return code;
}

acemq_status acemq_outbox_open(const char *store, const acemq_outbox_options *options,
                               acemq_outbox **outbox, acemq_error **error)
{
    acemq_outbox_options read;
    ace_outbox_options inner;
    ace_code code = ace_argument_text(store, "store", error);
    if (code == ACE_OK) {
        code = read_options(options, &read, &inner, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(outbox, "outbox", error);
    }
    if (code == ACE_OK) {
        code = ace_outbox_open(store, &inner, ace_deadline_after(read.timeout), outbox, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_outbox_open_lmdb(struct MDB_env *env, const acemq_outbox_options *options,
                                    acemq_outbox **outbox, acemq_error **error)
{
    acemq_outbox_options read;
    ace_outbox_options inner;
    ace_code code = ace_argument_present(env, "env", error);
    if (code == ACE_OK) {
        code = read_options(options, &read, &inner, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(outbox, "outbox", error);
    }
    if (code == ACE_OK) {
        code =
            ace_outbox_open_lmdb_env(env, &inner, ace_deadline_after(read.timeout), outbox, error);
    }
    return (acemq_status)code;
}

void acemq_outbox_free(acemq_outbox *outbox)
{
    ace_outbox_free(outbox);
}

/* --- enqueuing --- */

typedef struct enqueuing {
    const char *exchange;
    const char *routing_key;
    const acemq_message *message;
    char *id; /* room; NULL */
} enqueuing;

typedef ace_code adder(ace_outbox *outbox, void *transaction, int64_t deadline,
                       const ace_outbox_record *record, ace_error **error);

static ace_code enqueue(ace_outbox *outbox, const enqueuing *what, adder *add, void *transaction,
                        int64_t deadline, ace_error **error)
{
    ace_message_record made;
    ace_code code = ace_message_record_make(what->message, what->exchange, what->routing_key,
                                            ace_outbox_stamp(outbox), &made, error);
    if (code != ACE_OK) {
        return code;
    }
    code = add(outbox, transaction, deadline, &made.record, error);
    if (code == ACE_OK && what->id != NULL) {
        memcpy(what->id, made.record.id.data, made.record.id.length);
        what->id[made.record.id.length] = '\0';
    }
    ace_message_record_clear(&made);
    return code;
}

static ace_code add_alone(ace_outbox *outbox, void *transaction, int64_t deadline,
                          const ace_outbox_record *record, ace_error **error)
{
    (void)transaction;
    return ace_outbox_add(outbox, record, NULL, deadline, error);
}

static ace_code add_lmdb(ace_outbox *outbox, void *transaction, int64_t deadline,
                         const ace_outbox_record *record, ace_error **error)
{
    (void)deadline;
    return ace_outbox_add_lmdb(outbox, transaction, record, error);
}

static ace_code add_postgres(ace_outbox *outbox, void *transaction, int64_t deadline,
                             const ace_outbox_record *record, ace_error **error)
{
    (void)deadline;
    return ace_outbox_add_postgres(outbox, transaction, record, error);
}

acemq_status acemq_outbox_enqueue(acemq_outbox *outbox, const char *exchange,
                                  const char *routing_key, const acemq_message *message,
                                  int64_t timeout, char id[ACEMQ_OUTBOX_ID_SIZE],
                                  acemq_error **error)
{
    const enqueuing what = {exchange, routing_key, message, id};
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = enqueue(outbox, &what, add_alone, NULL, ace_deadline_after(timeout), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_outbox_enqueue_lmdb(acemq_outbox *outbox, struct MDB_txn *transaction,
                                       const char *exchange, const char *routing_key,
                                       const acemq_message *message, char id[ACEMQ_OUTBOX_ID_SIZE],
                                       acemq_error **error)
{
    const enqueuing what = {exchange, routing_key, message, id};
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_present(transaction, "transaction", error);
    }
    if (code == ACE_OK) {
        code = enqueue(outbox, &what, add_lmdb, transaction, ACE_NEVER, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_outbox_enqueue_postgres(acemq_outbox *outbox, struct pg_conn *connection,
                                           const char *exchange, const char *routing_key,
                                           const acemq_message *message,
                                           char id[ACEMQ_OUTBOX_ID_SIZE], acemq_error **error)
{
    const enqueuing what = {exchange, routing_key, message, id};
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_present(connection, "connection", error);
    }
    if (code == ACE_OK) {
        code = enqueue(outbox, &what, add_postgres, connection, ACE_NEVER, error);
    }
    return (acemq_status)code;
}

/* --- looking after it --- */

acemq_status acemq_outbox_count(acemq_outbox *outbox, int64_t timeout, acemq_outbox_counts *counts,
                                acemq_error **error)
{
    const acemq_outbox_counts nothing = {.size = sizeof nothing};
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(counts, "counts", error);
    }
    if (code == ACE_OK) {
        code = ace_options_fill(counts, counts->size, &nothing, sizeof nothing,
                                COUNTS_FIRST_RELEASE, "counts", error);
    }
    ace_outbox_counts found;
    if (code == ACE_OK) {
        code = ace_outbox_count(outbox, ace_deadline_after(timeout), &found, error);
    }
    if (code == ACE_OK) {
        counts->pending = found.pending;
        counts->retired = found.retired;
        counts->published = found.published;
        counts->oldest_age = found.oldest_age;
    }
    return (acemq_status)code;
}

acemq_status acemq_outbox_release(acemq_outbox *outbox, const char *id, int64_t timeout,
                                  uint64_t *released, acemq_error **error)
{
    uint64_t changed = 0;
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_optional_text(id, "id", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_outbox_release(outbox, id, ace_deadline_after(timeout), &changed, error);
    }
    if (code == ACE_OK && released != NULL) {
        *released = changed;
    }
    return (acemq_status)code;
}

acemq_status acemq_outbox_purge_published(acemq_outbox *outbox, int64_t age, int64_t timeout,
                                          uint64_t *purged, acemq_error **error)
{
    uint64_t changed = 0;
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_range(age, 0, INT64_C(1) << 53, "age", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_outbox_purge(outbox, age, ace_deadline_after(timeout), &changed, error);
    }
    if (code == ACE_OK && purged != NULL) {
        *purged = changed;
    }
    return (acemq_status)code;
}
