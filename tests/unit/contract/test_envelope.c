#include "random_table.h"
#include "vectors.h"

#include "contract/envelope.h"
#include "contract/publish.h"
#include "contract/value.h"

static const int64_t now = 1800000000000;

static ace_envelope read_of(const amqp_table_t *headers, ace_arena *arena)
{
    ace_arrival arrival = {.headers = headers,
                           .routing_key = ace_bytes_of("the.key"),
                           .message_id = ace_bytes_of("the-message-id"),
                           .reply_to = ace_bytes_of("the-reply-queue"),
                           .fallback_id = ace_bytes_of("a-new-id")};
    ace_envelope envelope;
    SUCCEEDS(ace_envelope_read(&arrival, arena, &envelope, &error));
    return envelope;
}

/* Reads a table with the one header of this typed JSON value. */
static ace_envelope read_one(const char *name, json_t *value, ace_table *table, ace_arena *arena)
{
    json_t *json = json_pack("{s:O}", name, value);
    ace_table_clear(table);
    table_of(json, table);
    json_decref(json);
    return read_of(&table->table, arena);
}

static void same_text_member(ace_bytes got, const json_t *envelope, const char *name)
{
    const json_t *wanted = member(envelope, name);
    if (json_is_null(wanted)) {
        ck_assert_msg(got.length == 0, "%s is there", name);
    } else {
        is_text(got, json_string_value(wanted));
    }
}

static void same_envelope(const ace_envelope *got, const json_t *wanted)
{
    same_text_member(got->id, wanted, "id");
    same_text_member(got->type, wanted, "type");
    same_text_member(got->correlation, wanted, "correlation");
    same_text_member(got->causation, wanted, "causation");
    same_text_member(got->origin, wanted, "origin");
    same_text_member(got->error, wanted, "error");
    same_text_member(got->claim, wanted, "claim");
    same_text_member(got->replayed_from, wanted, "replayedFrom");
    ck_assert_int_eq(got->version, number_of(wanted, "version"));
    ck_assert_int_eq(got->attempt, number_of(wanted, "attempt"));
    ck_assert_int_eq(got->first_seen, number_of(wanted, "firstSeen"));
    ck_assert_int_eq(got->replay_count, number_of(wanted, "replayCount"));
    ck_assert_int_eq(got->replayed_at_known, !json_is_null(member(wanted, "replayedAt")));
    if (got->replayed_at_known) {
        ck_assert_int_eq(got->replayed_at, number_of(wanted, "replayedAt"));
    }
}

START_TEST(messages_of_a_peer_gain_and_lose_nothing)
{
    json_t *vectors = vectors_read("envelopes.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "messages"), i, row)
    {
        ace_table headers = ACE_TABLE_INIT;
        ace_arena arena = ACE_ARENA_INIT;
        table_of(member(row, "headers"), &headers);
        ace_envelope envelope = read_of(&headers.table, &arena);
        same_envelope(&envelope, member(row, "envelope"));
        ck_assert(!envelope.id_unstable);
        int position = 0;
        size_t seen = 0;
        const amqp_table_entry_t *header;
        while ((header = ace_application_header_next(&headers.table, &position)) != NULL) {
            ck_assert(!ace_header_is_reserved(ace_bytes_from_amqp(header->key)));
            seen++;
        }
        ck_assert_uint_eq(seen, json_array_size(member(row, "application")));
        ace_table written = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_copy_arrived(&written, &headers.table, &error));
        SUCCEEDS(ace_envelope_write(&envelope, now, &written, &error));
        same_tables(&written.table, &headers.table);
        ace_table_release(&written);
        ace_table_release(&headers);
        ace_arena_free(&arena);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(the_envelope_alone_makes_the_headers_again)
{
    json_t *vectors = vectors_read("envelopes.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "messages"), i, row)
    {
        ace_table headers = ACE_TABLE_INIT;
        ace_table application = ACE_TABLE_INIT;
        ace_arena arena = ACE_ARENA_INIT;
        table_of(member(row, "headers"), &headers);
        ace_envelope envelope = read_of(&headers.table, &arena);
        int position = 0;
        const amqp_table_entry_t *header;
        while ((header = ace_application_header_next(&headers.table, &position)) != NULL) {
            SUCCEEDS(ace_table_set(&application, ace_bytes_from_amqp(header->key), &header->value,
                                   &error));
        }
        SUCCEEDS(ace_envelope_write(&envelope, now, &application, &error));
        same_tables(&application.table, &headers.table);
        ace_table_release(&application);
        ace_table_release(&headers);
        ace_arena_free(&arena);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(an_integer_of_any_width_reads_and_anything_else_is_the_default)
{
    json_t *vectors = vectors_read("envelopes.json");
    static const char *const groups[] = {"integersThatRead", "integersThatDoNot"};
    ace_table table = ACE_TABLE_INIT;
    ace_arena arena = ACE_ARENA_INIT;
    for (size_t g = 0; g < 2; g++) {
        const json_t *group = member(vectors, groups[g]);
        json_t *value;
        size_t i;
        json_array_foreach(list(group, "values"), i, value)
        {
            ace_envelope envelope = read_one(text_of(group, "header"), value, &table, &arena);
            char *shown = json_dumps(value, JSON_ENCODE_ANY);
            ck_assert_msg(envelope.attempt == number_of(group, "reads"), "%s reads as %d", shown,
                          (int)envelope.attempt);
            free(shown);
            envelope = read_one(ACE_HEADER_VERSION, value, &table, &arena);
            ck_assert_int_eq(envelope.version, number_of(group, "reads"));
        }
    }
    ace_table_release(&table);
    ace_arena_free(&arena);
    json_decref(vectors);
}
END_TEST

START_TEST(a_first_seen_that_does_not_read_is_an_unknown_age)
{
    json_t *vectors = vectors_read("envelopes.json");
    ace_table table = ACE_TABLE_INIT;
    ace_arena arena = ACE_ARENA_INIT;
    json_t *value;
    size_t i;
    json_array_foreach(list(vectors, "firstSeenThatIsUnknown"), i, value)
    {
        ace_envelope envelope = read_one(ACE_HEADER_FIRST_SEEN, value, &table, &arena);
        ck_assert_int_eq(envelope.first_seen, 0);
        ck_assert_int_eq(ace_message_age(envelope.first_seen, now), ACE_AGE_UNKNOWN);
        SUCCEEDS(ace_envelope_write(&envelope, now, &table, &error));
        const amqp_field_value_t *written = ace_table_find(&table.table, ACE_HEADER_FIRST_SEEN);
        ck_assert_int_eq(written->kind, AMQP_FIELD_KIND_I64);
        ck_assert_int_eq(written->value.i64, now);
    }
    json_array_foreach(list(vectors, "firstSeenThatReads"), i, value)
    {
        ace_envelope envelope =
            read_one(ACE_HEADER_FIRST_SEEN, json_array_get(value, 0), &table, &arena);
        ck_assert_int_eq(envelope.first_seen, number_at(value, 1));
    }
    ace_table_release(&table);
    ace_arena_free(&arena);
    json_decref(vectors);
}
END_TEST

START_TEST(a_text_reads_from_a_long_string_or_bytes_of_utf8)
{
    json_t *vectors = vectors_read("envelopes.json");
    ace_table table = ACE_TABLE_INIT;
    ace_arena arena = ACE_ARENA_INIT;
    json_t *value;
    size_t i;
    json_array_foreach(list(vectors, "textsThatRead"), i, value)
    {
        json_t *typed = json_array_get(value, 0);
        is_text(read_one(ACE_HEADER_ID, typed, &table, &arena).id, text_at(value, 1));
        is_text(read_one(ACE_HEADER_ERROR, typed, &table, &arena).error, text_at(value, 1));
    }
    json_array_foreach(list(vectors, "textsThatDoNot"), i, value)
    {
        is_text(read_one(ACE_HEADER_ID, value, &table, &arena).id, "the-message-id");
        is_text(read_one(ACE_HEADER_TYPE, value, &table, &arena).type, "the.key");
        is_text(read_one(ACE_HEADER_CORRELATION, value, &table, &arena).correlation,
                "the-message-id");
        is_text(read_one(ACE_HEADER_REPLY_TO, value, &table, &arena).reply_to, "the-reply-queue");
        ck_assert_uint_eq(read_one(ACE_HEADER_ORIGIN, value, &table, &arena).origin.length, 0);
        ck_assert_uint_eq(read_one(ACE_HEADER_ERROR, value, &table, &arena).error.length, 0);
        ck_assert_uint_eq(read_one(ACE_HEADER_ROUTE, value, &table, &arena).route_length, 0);
    }
    ace_table_release(&table);
    ace_arena_free(&arena);
    json_decref(vectors);
}
END_TEST

START_TEST(replayed_at_reads_in_all_its_forms)
{
    json_t *vectors = vectors_read("envelopes.json");
    ace_table table = ACE_TABLE_INIT;
    ace_arena arena = ACE_ARENA_INIT;
    json_t *value;
    size_t i;
    json_array_foreach(list(vectors, "replayedAt"), i, value)
    {
        ace_envelope envelope =
            read_one(ACE_HEADER_REPLAYED_AT, json_array_get(value, 0), &table, &arena);
        bool reads = !json_is_null(json_array_get(value, 1));
        ck_assert_int_eq(envelope.replayed_at_known, reads);
        if (reads) {
            ck_assert_int_eq(envelope.replayed_at, number_at(value, 1));
        }
    }
    ace_table_release(&table);
    ace_arena_free(&arena);
    json_decref(vectors);
}
END_TEST

START_TEST(a_route_is_trimmed_and_written_again)
{
    json_t *vectors = vectors_read("envelopes.json");
    ace_arena arena = ACE_ARENA_INIT;
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "routes"), i, row)
    {
        ace_table table = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_set_text(&table, ACE_HEADER_ROUTE, text_at(row, 0), &error));
        json_t *headers = json_pack("{s:O}", ACE_HEADER_ROUTE_POSITION, json_array_get(row, 1));
        table_of(headers, &table);
        json_decref(headers);
        ace_envelope envelope = read_of(&table.table, &arena);
        const json_t *names = json_array_get(row, 2);
        ck_assert_uint_eq(envelope.route_length, json_array_size(names));
        for (size_t n = 0; n < envelope.route_length; n++) {
            is_text(envelope.route[n], text_at(names, n));
        }
        ck_assert_int_eq(envelope.route_position, number_at(row, 3));
        SUCCEEDS(ace_envelope_write(&envelope, now, &table, &error));
        const amqp_field_value_t *position =
            ace_table_find(&table.table, ACE_HEADER_ROUTE_POSITION);
        ck_assert_int_eq(position != NULL, envelope.route_length > 0);
        ck_assert(position == NULL || position->kind == AMQP_FIELD_KIND_I32);
        ace_table_release(&table);
    }
    ace_arena_free(&arena);
    json_decref(vectors);
}
END_TEST

START_TEST(a_foreign_message_has_defaults_and_may_have_no_stable_id)
{
    ace_arena arena = ACE_ARENA_INIT;
    ace_envelope envelope = read_of(NULL, &arena);
    is_text(envelope.id, "the-message-id");
    is_text(envelope.type, "the.key");
    is_text(envelope.correlation, "the-message-id");
    ck_assert(!envelope.id_unstable);
    ck_assert_uint_eq(envelope.origin.length, 0);
    ace_arrival arrival = {.fallback_id = ace_bytes_of("new")};
    SUCCEEDS(ace_envelope_read(&arrival, &arena, &envelope, &error));
    ck_assert(envelope.id_unstable);
    is_text(envelope.id, "new");
    is_text(envelope.type, "message");
    is_text(envelope.correlation, "new");
    ck_assert_int_eq(envelope.attempt, 1);
    ck_assert_int_eq(envelope.version, 1);
    arrival.message_id = ace_bytes_of("\xff");
    arrival.routing_key = ace_bytes_of("\xff");
    SUCCEEDS(ace_envelope_read(&arrival, &arena, &envelope, &error));
    is_text(envelope.id, "new");
    is_text(envelope.type, "message");
    ace_arena_free(&arena);
}
END_TEST

static amqp_table_entry_t text_header(const char *name, const char *text)
{
    return (amqp_table_entry_t){
        .key = amqp_cstring_bytes(name),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(text)}};
}

static bool is_same(const ace_envelope *a, const ace_envelope *b)
{
    return ace_bytes_equal(a->id, b->id) && ace_bytes_equal(a->type, b->type) &&
           ace_bytes_equal(a->correlation, b->correlation) &&
           ace_bytes_equal(a->causation, b->causation) && ace_bytes_equal(a->origin, b->origin) &&
           ace_bytes_equal(a->error, b->error) && ace_bytes_equal(a->claim, b->claim) &&
           ace_bytes_equal(a->route_id, b->route_id) &&
           ace_bytes_equal(a->replayed_from, b->replayed_from) &&
           ace_bytes_equal(a->reply_to, b->reply_to) && a->version == b->version &&
           a->attempt == b->attempt && a->first_seen == b->first_seen &&
           a->route_length == b->route_length && a->route_position == b->route_position &&
           a->replay_count == b->replay_count && a->replayed_at_known == b->replayed_at_known &&
           a->id_unstable == b->id_unstable;
}

START_TEST(a_name_that_is_nearly_one_of_ours_is_none_of_ours)
{
    static const char *const names[] = {
        ACE_HEADER_ID,          ACE_HEADER_TYPE,          ACE_HEADER_VERSION,
        ACE_HEADER_CORRELATION, ACE_HEADER_ATTEMPT,       ACE_HEADER_FIRST_SEEN,
        ACE_HEADER_ORIGIN,      ACE_HEADER_CAUSATION,     ACE_HEADER_ERROR,
        ACE_HEADER_CLAIM,       ACE_HEADER_ROUTE,         ACE_HEADER_ROUTE_POSITION,
        ACE_HEADER_ROUTE_ID,    ACE_HEADER_REPLAYED_FROM, ACE_HEADER_REPLAYED_AT,
        ACE_HEADER_REPLY_TO,    ACE_HEADER_REPLAY_COUNT,
    };
    ace_arena arena = ACE_ARENA_INIT;
    ace_envelope nothing = read_of(NULL, &arena);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        size_t length = strlen(names[i]);
        for (size_t at = 0; at <= length; at++) {
            memcpy(name, names[i], length + 1);
            memcpy(name + at, at == length ? "x" : "_", at == length ? 2 : 1);
            amqp_table_entry_t entry = text_header(name, "7");
            ace_envelope read = read_of(&(amqp_table_t){1, &entry}, &arena);
            ck_assert_msg(is_same(&read, &nothing), "%s was read", name);
        }
        amqp_table_entry_t entry = text_header(names[i], "7");
        ace_envelope read = read_of(&(amqp_table_t){1, &entry}, &arena);
        bool alone = strncmp(names[i], ACE_HEADER_ROUTE "-", sizeof ACE_HEADER_ROUTE) != 0;
        ck_assert_msg(is_same(&read, &nothing) != alone, "%s", names[i]);
    }
    amqp_table_entry_t unnamed = text_header("", "7");
    unnamed.key.bytes = NULL;
    ace_envelope read = read_of(&(amqp_table_t){1, &unnamed}, &arena);
    ck_assert(is_same(&read, &nothing));
    ace_arena_free(&arena);
}
END_TEST

START_TEST(of_two_headers_of_one_name_the_first_counts)
{
    amqp_table_entry_t entries[] = {
        text_header(ACE_HEADER_ID, "first"), text_header(ACE_HEADER_ATTEMPT, "no number"),
        text_header(ACE_HEADER_ID, "second"), text_header(ACE_HEADER_ATTEMPT, "4")};
    ace_arena arena = ACE_ARENA_INIT;
    ace_envelope read = read_of(&(amqp_table_t){4, entries}, &arena);
    is_text(read.id, "first");
    ck_assert_int_eq(read.attempt, 1);
    ace_arena_free(&arena);
}
END_TEST

START_TEST(a_caused_message_carries_the_correlation_on)
{
    ace_envelope parent;
    ace_envelope child;
    ace_envelope_init(&parent);
    parent.id = ace_bytes_of("parent");
    parent.correlation = ace_bytes_of("flow");
    parent.attempt = 4;
    parent.error = ace_bytes_of("e");
    ace_envelope_causing(&parent, ace_bytes_of("child"), &child);
    is_text(child.id, "child");
    is_text(child.correlation, "flow");
    is_text(child.causation, "parent");
    ck_assert_int_eq(child.attempt, 1);
    ck_assert_uint_eq(child.error.length, 0);
    ace_envelope_complete(&child, ace_bytes_of("the.key"), ace_bytes_of("unused"),
                          ace_bytes_of("acemq@h"), now);
    is_text(child.id, "child");
    is_text(child.type, "the.key");
    is_text(child.origin, "acemq@h");
    ck_assert_int_eq(child.first_seen, now);
}
END_TEST

START_TEST(any_headers_at_all_read_and_write_and_then_stay)
{
    static const char *const known[] = {
        ACE_HEADER_ID,       ACE_HEADER_TYPE,        ACE_HEADER_VERSION,
        ACE_HEADER_ATTEMPT,  ACE_HEADER_CORRELATION, ACE_HEADER_FIRST_SEEN,
        ACE_HEADER_ORIGIN,   ACE_HEADER_CAUSATION,   ACE_HEADER_ERROR,
        ACE_HEADER_CLAIM,    ACE_HEADER_ROUTE,       ACE_HEADER_ROUTE_POSITION,
        ACE_HEADER_ROUTE_ID, ACE_HEADER_REPLAYED_AT, ACE_HEADER_REPLAY_COUNT,
    };
    uint64_t state = 3;
    for (int i = 0; i < 3000; i++) {
        ace_table table = ACE_TABLE_INIT;
        ace_arena arena = ACE_ARENA_INIT;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            if (next_random(&state) % 3 != 0) {
                set_any(&state, 1, &table, known[k]);
            }
        }
        random_entries(&state, 1, &table, 3);
        ace_envelope first = read_of(&table.table, &arena);
        ace_table once = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_copy_arrived(&once, &table.table, &error));
        SUCCEEDS(ace_envelope_write(&first, now, &once, &error));
        ace_envelope second = read_of(&once.table, &arena);
        ck_assert(ace_bytes_equal(first.id, second.id));
        ck_assert_int_eq(first.attempt, second.attempt);
        ace_table twice = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_copy_arrived(&twice, &once.table, &error));
        SUCCEEDS(ace_envelope_write(&second, now + 1, &twice, &error));
        same_tables(&twice.table, &once.table);
        ace_table_release(&twice);
        ace_table_release(&once);
        ace_table_release(&table);
        ace_arena_free(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("envelope");
    TCase *tests = case_of(suite, "envelope");
    tcase_add_test(tests, messages_of_a_peer_gain_and_lose_nothing);
    tcase_add_test(tests, the_envelope_alone_makes_the_headers_again);
    tcase_add_test(tests, an_integer_of_any_width_reads_and_anything_else_is_the_default);
    tcase_add_test(tests, a_first_seen_that_does_not_read_is_an_unknown_age);
    tcase_add_test(tests, a_text_reads_from_a_long_string_or_bytes_of_utf8);
    tcase_add_test(tests, replayed_at_reads_in_all_its_forms);
    tcase_add_test(tests, a_route_is_trimmed_and_written_again);
    tcase_add_test(tests, a_foreign_message_has_defaults_and_may_have_no_stable_id);
    tcase_add_test(tests, a_name_that_is_nearly_one_of_ours_is_none_of_ours);
    tcase_add_test(tests, of_two_headers_of_one_name_the_first_counts);
    tcase_add_test(tests, a_caused_message_carries_the_correlation_on);
    tcase_add_test(tests, any_headers_at_all_read_and_write_and_then_stay);
    return run_suite(suite);
}
