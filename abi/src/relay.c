#include "acemq/outbox.h"

#include "arguments.h"
#include "client.h"
#include "engine/waiter.h"
#include "patterns/relay.h"

#define FIRST_RELEASE          ACE_SIZE_UP_TO(acemq_relay_options, reserved)
#define COUNTERS_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_relay_counters, reserved)
#define LONGEST_LEASE          INT64_C(86400000)

static const acemq_relay_options defaults = ACEMQ_RELAY_OPTIONS_INIT;

acemq_status acemq_relay_options_init(acemq_relay_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code read_options(const acemq_relay_options *given, ace_relay_options *options,
                             ace_error **error)
{
    acemq_relay_options read = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof read, FIRST_RELEASE, &read, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.every, 1, INT64_MAX, "every", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.lease, ACE_RELAY_LEASE_MIN, LONGEST_LEASE, "lease", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.batch, 1, ACE_RELAY_BATCH_MAX, "batch", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.reserved, 0, 0, "reserved", error);
    }
    if (code == ACE_OK) {
        *options = (ace_relay_options){(size_t)read.batch, read.every, read.lease};
    }
    return code;
}

acemq_status acemq_relay_start(acemq_connection *connection, acemq_outbox *outbox,
                               const acemq_relay_options *options, acemq_relay **relay,
                               acemq_error **error)
{
    ace_relay_options inner;
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_outbox_check(outbox, error);
    }
    if (code == ACE_OK) {
        code = read_options(options, &inner, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(relay, "relay", error);
    }
    if (code == ACE_OK) {
        code = ace_relay_start(connection, outbox, &inner, relay, error);
    }
    return (acemq_status)code;
}

void acemq_relay_wake(acemq_relay *relay)
{
    if (ace_relay_check(relay, NULL) == ACE_OK) {
        ace_relay_wake(relay);
    }
}

acemq_status acemq_relay_drain(acemq_relay *relay, int64_t timeout, acemq_error **error)
{
    ace_code code = ace_relay_check(relay, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_relay_drain(relay, ace_deadline_after(timeout),
                               ace_client_cancel(ace_relay_connection(relay), NULL), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_relay_stop(acemq_relay *relay, int64_t timeout, acemq_error **error)
{
    ace_code code = ace_relay_check(relay, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK && !ace_relay_stop(relay, ace_deadline_after(timeout))) {
        code = ace_fail(error, ACE_TIMEOUT, "what was under way was cut off");
    }
    return (acemq_status)code;
}

void acemq_relay_free(acemq_relay *relay)
{
    ace_relay_free(relay);
}

acemq_status acemq_relay_count(acemq_relay *relay, acemq_relay_counters *counters,
                               acemq_error **error)
{
    const acemq_relay_counters nothing = {.size = sizeof nothing};
    ace_code code = ace_relay_check(relay, error);
    if (code == ACE_OK) {
        code = ace_argument_present(counters, "counters", error);
    }
    if (code == ACE_OK) {
        code = ace_options_fill(counters, counters->size, &nothing, sizeof nothing,
                                COUNTERS_FIRST_RELEASE, "counters", error);
    }
    if (code == ACE_OK) {
        ace_relay_counts counts;
        ace_relay_count(relay, &counts);
        counters->published = counts.published;
        counters->failed = counts.failed;
        counters->retired = counts.retired;
        counters->passes = counts.passes;
    }
    return (acemq_status)code;
}
