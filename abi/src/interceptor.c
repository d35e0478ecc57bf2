#include "acemq/interceptor.h"

#include "arguments.h"
#include "client.h"
#include "engine/delivery.h"
#include "engine/interceptor.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC           ACE_MAGIC('I', 'N', 'T', 'C')
#define PUBLISH_RELEASE ACE_SIZE_UP_TO(acemq_publish_interceptor, destructor)
#define CONSUME_RELEASE ACE_SIZE_UP_TO(acemq_consume_interceptor, destructor)

_Static_assert(ACEMQ_OUTCOME_PUT_BACK == ACE_OUTCOME_PUT_BACK, "one number for what is put back");

static const acemq_publish_interceptor publish_defaults = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
static const acemq_consume_interceptor consume_defaults = ACEMQ_CONSUME_INTERCEPTOR_INIT;

struct acemq_interceptor {
    ace_handle handle;
    ace_connection *connection;   /* one reference */
    ace_interceptor *interceptor; /* the same */
};

acemq_status acemq_publish_interceptor_init(acemq_publish_interceptor *interceptor, size_t size)
{
    return (acemq_status)ace_options_fill(interceptor, size, &publish_defaults,
                                          sizeof publish_defaults, PUBLISH_RELEASE, "interceptor",
                                          NULL);
}

acemq_status acemq_consume_interceptor_init(acemq_consume_interceptor *interceptor, size_t size)
{
    return (acemq_status)ace_options_fill(interceptor, size, &consume_defaults,
                                          sizeof consume_defaults, CONSUME_RELEASE, "interceptor",
                                          NULL);
}

const char *acemq_interception_exchange(const acemq_interception *call)
{
    return call == NULL ? "" : call->exchange;
}

const char *acemq_interception_routing_key(const acemq_interception *call)
{
    return call == NULL ? "" : call->routing_key;
}

void acemq_interception_fail(acemq_interception *call, const char *reason)
{
    if (call != NULL) {
        free(call->reason);
        call->reason = reason == NULL ? NULL : strdup(reason);
    }
}

void acemq_interception_keep(acemq_interception *call, void *value)
{
    if (call != NULL) {
        *call->kept = value;
    }
}

void *acemq_interception_kept(const acemq_interception *call)
{
    return call == NULL ? NULL : *call->kept;
}

/* --- from the engine's hooks to those of the ABI: `user` is a copy of what was registered --- */

static int publish_before(ace_interception *call, void *subject, void *user)
{
    const acemq_publish_interceptor *hooks = user;
    return hooks->before == NULL ? 0 : hooks->before(call, subject, hooks->user);
}

static int publish_confirmed(ace_interception *call, void *subject, int outcome, void *user)
{
    const acemq_publish_interceptor *hooks = user;
    (void)outcome;
    return hooks->confirmed == NULL ? 0 : hooks->confirmed(call, subject, hooks->user);
}

static int publish_failed(ace_interception *call, void *subject, int outcome,
                          const ace_error *error, const char *reason, void *user)
{
    const acemq_publish_interceptor *hooks = user;
    (void)outcome;
    (void)reason;
    return hooks->failed == NULL ? 0 : hooks->failed(call, subject, error, hooks->user);
}

static void publish_end(void *user)
{
    acemq_publish_interceptor *hooks = user;
    if (hooks->destructor != NULL) {
        hooks->destructor(hooks->user);
    }
    free(hooks);
}

static int consume_before(ace_interception *call, void *subject, void *user)
{
    const acemq_consume_interceptor *hooks = user;
    return hooks->before == NULL ? 0 : (int)hooks->before(call, subject, hooks->user);
}

static int consume_after(ace_interception *call, void *subject, int outcome, void *user)
{
    const acemq_consume_interceptor *hooks = user;
    return hooks->after == NULL ? 0 : hooks->after(call, subject, outcome, hooks->user);
}

static int consume_failed(ace_interception *call, void *subject, int outcome,
                          const ace_error *error, const char *reason, void *user)
{
    const acemq_consume_interceptor *hooks = user;
    (void)error;
    return hooks->failed == NULL ? 0 : hooks->failed(call, subject, outcome, reason, hooks->user);
}

static void consume_end(void *user)
{
    acemq_consume_interceptor *hooks = user;
    if (hooks->destructor != NULL) {
        hooks->destructor(hooks->user);
    }
    free(hooks);
}

/* --- registering --- */

static ace_code make_handle(acemq_connection *connection, acemq_interceptor **made,
                            ace_error **error)
{
    *made = calloc(1, sizeof **made);
    if (*made == NULL) {
        return ace_fail_memory(error);
    }
    (*made)->connection = connection;
    return ACE_OK;
}

/* `hooks->user` is malloc'd, and freed here when it is not registered. */
static ace_code add(acemq_connection *connection, ace_interceptor_side side,
                    const ace_interceptor_hooks *hooks, acemq_interceptor **interceptor,
                    ace_error **error)
{
    acemq_interceptor *made = NULL;
    ace_interceptor *added = NULL;
    ace_code code =
        hooks->user == NULL ? ace_fail_memory(error) : make_handle(connection, &made, error);
    if (code == ACE_OK) {
        code = ace_interceptors_add(&connection->interceptors, side, hooks, &added, error);
    }
    if (code != ACE_OK) {
        free(hooks->user);
        free(made);
        return code;
    }
    if (interceptor == NULL) {
        ace_interceptor_release(added);
        free(made);
        return ACE_OK;
    }
    made->interceptor = added;
    (void)ace_connection_keep(connection);
    ace_handle_init(&made->handle, MAGIC);
    *interceptor = made;
    return ACE_OK;
}

static void *copy_of(const void *hooks, size_t size)
{
    void *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, hooks, size);
    }
    return copy;
}

static ace_code read_hooks(const acemq_connection *connection, const void *given, size_t known,
                           size_t first_release, void *hooks, ace_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_present(given, "hooks", error);
    }
    return code == ACE_OK ? ace_options_read(given, known, first_release, hooks, "hooks", error)
                          : code;
}

acemq_status acemq_intercept_publishing(acemq_connection *connection,
                                        const acemq_publish_interceptor *hooks,
                                        acemq_interceptor **interceptor, acemq_error **error)
{
    acemq_publish_interceptor read = publish_defaults;
    ace_code code = read_hooks(connection, hooks, sizeof read, PUBLISH_RELEASE, &read, error);
    if (code == ACE_OK) {
        code = ace_argument_optional_text(read.name, "name", error);
    }
    if (code == ACE_OK) {
        ace_interceptor_hooks made = {.name = read.name,
                                      .order = read.order,
                                      .before = publish_before,
                                      .after = publish_confirmed,
                                      .failed = publish_failed,
                                      .user = copy_of(&read, sizeof read),
                                      .destructor = publish_end};
        code = add(connection, ACE_SIDE_PUBLISHING, &made, interceptor, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_intercept_consuming(acemq_connection *connection,
                                       const acemq_consume_interceptor *hooks,
                                       acemq_interceptor **interceptor, acemq_error **error)
{
    acemq_consume_interceptor read = consume_defaults;
    ace_code code = read_hooks(connection, hooks, sizeof read, CONSUME_RELEASE, &read, error);
    if (code == ACE_OK) {
        code = ace_argument_optional_text(read.name, "name", error);
    }
    if (code == ACE_OK) {
        ace_interceptor_hooks made = {.name = read.name,
                                      .order = read.order,
                                      .before = consume_before,
                                      .after = consume_after,
                                      .failed = consume_failed,
                                      .user = copy_of(&read, sizeof read),
                                      .destructor = consume_end};
        code = add(connection, ACE_SIDE_CONSUMING, &made, interceptor, error);
    }
    return (acemq_status)code;
}

void acemq_interceptor_remove(acemq_interceptor *interceptor)
{
    if (interceptor == NULL) {
        return;
    }
    if (ace_handle_is_foreign(&interceptor->handle)) {
        ace_connection_release(interceptor->connection); /* its locks are the parent's */
        free(interceptor);
        return;
    }
    if (ace_handle_release(&interceptor->handle)) {
        ace_interceptors_remove(&interceptor->connection->interceptors, interceptor->interceptor);
        ace_interceptor_release(interceptor->interceptor);
        ace_connection_release(interceptor->connection);
        free(interceptor);
    }
}

/* --- the envelope of a delivery --- */

static acemq_status change_text(acemq_delivery *delivery, ace_envelope_text which, const char *text,
                                ace_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    return (acemq_status)(code == ACE_OK ? ace_delivery_change_text(delivery, which, text, error)
                                         : code);
}

acemq_status acemq_delivery_change_type(acemq_delivery *delivery, const char *type,
                                        acemq_error **error)
{
    return change_text(delivery, ACE_ENVELOPE_TYPE, type, error);
}

acemq_status acemq_delivery_change_version(acemq_delivery *delivery, int32_t version,
                                           acemq_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    return (acemq_status)(code == ACE_OK ? ace_delivery_change_version(delivery, version, error)
                                         : code);
}

acemq_status acemq_delivery_change_correlation(acemq_delivery *delivery, const char *correlation,
                                               acemq_error **error)
{
    return change_text(delivery, ACE_ENVELOPE_CORRELATION, correlation, error);
}

acemq_status acemq_delivery_change_causation(acemq_delivery *delivery, const char *causation,
                                             acemq_error **error)
{
    return change_text(delivery, ACE_ENVELOPE_CAUSATION, causation, error);
}

acemq_status acemq_delivery_change_origin(acemq_delivery *delivery, const char *origin,
                                          acemq_error **error)
{
    return change_text(delivery, ACE_ENVELOPE_ORIGIN, origin, error);
}
