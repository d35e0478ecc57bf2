#include "envelope.h"

#include "arguments.h"
#include "base/clock.h"
#include "base/random.h"
#include "contract/table.h"
#include "table.h"

#include <stdlib.h>

/* The core borrows its texts from frames, where no NUL ends them. */
static bool end_text(ace_arena *arena, ace_bytes *text)
{
    if (text->length == 0) {
        *text = (ace_bytes){NULL, 0};
        return true;
    }
    char *copy = ace_arena_text(arena, (const char *)text->data, text->length);
    text->data = (const uint8_t *)copy;
    return copy != NULL;
}

static bool end_route(ace_arena *arena, ace_envelope *envelope)
{
    if (envelope->route_length == 0) {
        envelope->route = NULL;
        return true;
    }
    ace_bytes *steps =
        ace_arena_copy(arena, envelope->route, envelope->route_length * sizeof *steps);
    if (steps == NULL) {
        return false;
    }
    for (size_t i = 0; i < envelope->route_length; i++) {
        if (!end_text(arena, &steps[i])) {
            return false;
        }
    }
    envelope->route = steps;
    return true;
}

static bool end_texts(ace_arena *arena, ace_envelope *envelope)
{
    ace_bytes *texts[] = {&envelope->id,        &envelope->type,     &envelope->correlation,
                          &envelope->causation, &envelope->origin,   &envelope->error,
                          &envelope->claim,     &envelope->route_id, &envelope->replayed_from,
                          &envelope->reply_to};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!end_text(arena, texts[i])) {
            return false;
        }
    }
    return end_route(arena, envelope);
}

ace_code ace_envelope_to_public(const ace_envelope *from, acemq_envelope **out, ace_error **error)
{
    acemq_envelope *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    made->envelope = *from;
    if (!end_texts(&made->arena, &made->envelope)) {
        acemq_envelope_free(made);
        return ace_fail_memory(error);
    }
    *out = made;
    return ACE_OK;
}

acemq_status acemq_envelope_read(const acemq_table *headers, const char *routing_key,
                                 const char *message_id, acemq_envelope **envelope,
                                 acemq_error **error)
{
    ace_code code = ace_argument_present(envelope, "envelope", error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    char fallback[ACE_UUID_LENGTH + 1];
    ace_uuid_v4(ace_random_system(), fallback);
    ace_arrival arrival = {.headers = headers == NULL ? NULL : &headers->table,
                           .routing_key = ace_bytes_of(routing_key),
                           .message_id = ace_bytes_of(message_id),
                           .fallback_id = ace_bytes_of(fallback)};
    ace_arena arena = ACE_ARENA_INIT;
    ace_envelope read;
    code = ace_envelope_read(&arrival, &arena, &read, error);
    if (code == ACE_OK) {
        code = ace_envelope_to_public(&read, envelope, error);
    }
    ace_arena_free(&arena);
    return (acemq_status)code;
}

void acemq_envelope_free(acemq_envelope *envelope)
{
    if (envelope != NULL) {
        ace_arena_free(&envelope->arena);
        free(envelope);
    }
}

acemq_status acemq_envelope_write(const acemq_envelope *envelope, acemq_table *headers,
                                  acemq_error **error)
{
    ace_code code = ace_argument_present(envelope, "envelope", error);
    if (code == ACE_OK) {
        code = ace_argument_present(headers, "headers", error);
    }
    if (code == ACE_OK) {
        code = ace_envelope_write(&envelope->envelope, ace_clock_wall(ace_clock_system()), headers,
                                  error);
    }
    return (acemq_status)code;
}

acemq_status acemq_envelope_application_headers(const acemq_table *headers,
                                                acemq_table **application, acemq_error **error)
{
    ace_code code = ace_argument_present(application, "application", error);
    if (code == ACE_OK) {
        code =
            ace_table_duplicate(headers == NULL ? NULL : &headers->table, true, application, error);
    }
    return (acemq_status)code;
}

static const char *text_of(const ace_bytes *text)
{
    return text->length == 0 ? NULL : (const char *)text->data;
}

const char *acemq_envelope_id(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.id);
}

const char *acemq_envelope_type(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.type);
}

const char *acemq_envelope_correlation(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.correlation);
}

const char *acemq_envelope_causation(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.causation);
}

const char *acemq_envelope_origin(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.origin);
}

const char *acemq_envelope_error(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.error);
}

const char *acemq_envelope_claim(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.claim);
}

const char *acemq_envelope_replayed_from(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.replayed_from);
}

const char *acemq_envelope_reply_to(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.reply_to);
}

const char *acemq_envelope_route_id(const acemq_envelope *envelope)
{
    return envelope == NULL ? NULL : text_of(&envelope->envelope.route_id);
}

int32_t acemq_envelope_version(const acemq_envelope *envelope)
{
    return envelope == NULL ? 1 : envelope->envelope.version;
}

int32_t acemq_envelope_attempt(const acemq_envelope *envelope)
{
    return envelope == NULL ? 1 : envelope->envelope.attempt;
}

int32_t acemq_envelope_replay_count(const acemq_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->envelope.replay_count;
}

int64_t acemq_envelope_first_seen(const acemq_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->envelope.first_seen;
}

int acemq_envelope_replayed_at(const acemq_envelope *envelope, int64_t *epoch_milliseconds)
{
    if (envelope == NULL || epoch_milliseconds == NULL || !envelope->envelope.replayed_at_known) {
        return 0;
    }
    *epoch_milliseconds = envelope->envelope.replayed_at;
    return 1;
}

size_t acemq_envelope_route_count(const acemq_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->envelope.route_length;
}

const char *acemq_envelope_route_step(const acemq_envelope *envelope, size_t index)
{
    return index < acemq_envelope_route_count(envelope) ? text_of(&envelope->envelope.route[index])
                                                        : NULL;
}

int32_t acemq_envelope_route_position(const acemq_envelope *envelope)
{
    return envelope == NULL ? 0 : envelope->envelope.route_position;
}

int acemq_envelope_id_is_made_up(const acemq_envelope *envelope)
{
    return envelope != NULL && envelope->envelope.id_unstable;
}
