/* Encrypted bodies and claim checks on their whole way: published, retried, parked, pulled. */
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 20000

static acemq_codec *encrypted(const char *id, const char *key, const acemq_codec *inner)
{
    acemq_keyring *ring = NULL;
    acemq_codec *codec = NULL;
    trial_must(acemq_keyring_new(&ring, trial_error()));
    trial_must(acemq_keyring_add(ring, id, (acemq_bytes){key, strlen(key)}, trial_error()));
    trial_must(acemq_codec_encrypted(ring, inner, &codec, trial_error()));
    acemq_keyring_free(ring);
    return codec;
}

static void send(const trial *self, const char *queue, const acemq_codec *codec, const char *text)
{
    acemq_message *message = acemq_message_encoded(codec, text, strlen(text));
    acemq_message_set_id(message, "m-1");
    trial_must(acemq_publish(self->mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
}

static acemq_consumer_options decoding(const acemq_codec *codec)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.codec = codec;
    return options;
}

START_TEST(a_handler_sees_what_was_encrypted_and_a_hop_carries_what_arrived)
{
    trial t;
    trial_recorder seen;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "sealed", ACEMQ_QUEUE_QUORUM);
    acemq_codec *codec =
        encrypted("2026-01", "0123456789abcdef0123456789abcdef", acemq_codec_builtin("json"));
    acemq_consumer_options options = decoding(codec);
    acemq_policy *policy = trial_policy("fixed(2, 10ms)");
    send(&t, queue, codec, "{\"id\":7}");
    trial_record(&seen, t.mq, queue, policy, &options, trial_fail, NULL);
    trial_wait_ready(&t, trial_derived(&t, queue, ".dlq"), 1, PATIENCE);
    for (size_t i = 0; i < 2; i++) {
        trial_sight_has_body(trial_sight_for(&seen, "m-1", i), "{\"id\":7}", 8);
    }
    trial_sight dead;
    trial_only(&t, trial_derived(&t, queue, ".dlq"), &dead);
    ck_assert_str_eq(dead.content_type, "application/vnd.acemq.encrypted");
    ck_assert_uint_eq(dead.length, 8 + 3 + 7 + 12 + 16);
    void *plain = NULL;
    size_t length = 0;
    trial_must(acemq_codec_decode(codec, (acemq_bytes){dead.body, dead.length}, dead.content_type,
                                  &plain, &length, trial_error()));
    ck_assert_str_eq(plain, "{\"id\":7}");
    acemq_free(plain);
    trial_sight_free(&dead);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    acemq_codec_free(codec);
    trial_end(&t);
}
END_TEST

START_TEST(a_body_of_an_unknown_key_is_parked_and_its_id_named)
{
    trial t;
    trial_recorder seen;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "unknown", ACEMQ_QUEUE_QUORUM);
    const acemq_codec *json = acemq_codec_builtin("json");
    acemq_codec *writer = encrypted("2026-02", "0123456789abcdef", json);
    acemq_codec *reader = encrypted("2026-01", "0123456789abcdef", json);
    acemq_consumer_options options = decoding(reader);
    send(&t, queue, writer, "1");
    trial_record(&seen, t.mq, queue, NULL, &options, trial_accept, NULL);
    trial_wait_ready(&t, trial_derived(&t, queue, ".parked"), 1, PATIENCE);
    ck_assert_uint_eq(trial_seen(&seen), 0);
    trial_sight parked;
    trial_only(&t, trial_derived(&t, queue, ".parked"), &parked);
    ck_assert_str_eq(acemq_envelope_error(parked.envelope),
                     "could not be decoded: there is no key \"2026-02\"");
    trial_sight_free(&parked);
    trial_record_end(&seen);
    acemq_codec_free(writer);
    acemq_codec_free(reader);
    trial_end(&t);
}
END_TEST

/* --- claims --- */

/* One object, in memory. */
typedef struct shelf {
    atomic_int failures; /* of the next gets */
    atomic_int gets;
    char key[200];
    void *object;
    size_t length;
} shelf;

static int shelf_put(const char *key, acemq_bytes object, char *reason, size_t size, void *user)
{
    shelf *self = user;
    (void)reason;
    (void)size;
    snprintf(self->key, sizeof self->key, "%s", key);
    self->object = malloc(object.length);
    ck_assert_ptr_nonnull(self->object);
    memcpy(self->object, object.data, object.length);
    self->length = object.length;
    return 0;
}

static int shelf_get(const char *key, acemq_claim_object *object, char *reason, size_t size,
                     void *user)
{
    shelf *self = user;
    atomic_fetch_add(&self->gets, 1);
    if (atomic_load(&self->failures) > 0) {
        atomic_fetch_sub(&self->failures, 1);
        snprintf(reason, size, "the shelf is out of reach");
        return -1;
    }
    if (self->object == NULL || strcmp(self->key, key) != 0) {
        return 1;
    }
    return acemq_claim_object_append(object, self->object, self->length, NULL);
}

static int shelf_remove(const char *key, char *reason, size_t size, void *user)
{
    shelf *self = user;
    (void)key;
    (void)reason;
    (void)size;
    free(self->object);
    self->object = NULL;
    return 0;
}

static acemq_codec *claiming(shelf *self, acemq_claim_store **store, int64_t threshold)
{
    acemq_claim_callbacks callbacks = {.size = sizeof callbacks,
                                       .put = shelf_put,
                                       .get = shelf_get,
                                       .remove = shelf_remove,
                                       .user = self};
    acemq_codec *codec = NULL;
    trial_must(acemq_claim_store_new(&callbacks, store, trial_error()));
    trial_must(acemq_codec_claim_check(acemq_codec_builtin("text"), *store, threshold, &codec,
                                       trial_error()));
    return codec;
}

START_TEST(a_store_that_fails_is_retried_and_nothing_is_parked)
{
    trial t;
    trial_recorder seen;
    shelf own = {.failures = 2};
    acemq_claim_store *store = NULL;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "claims", ACEMQ_QUEUE_QUORUM);
    acemq_codec *codec = claiming(&own, &store, 10);
    acemq_consumer_options options = decoding(codec);
    acemq_policy *policy = trial_policy("fixed(5, 10ms)");
    send(&t, queue, codec, "a body of more than ten bytes");
    trial_record(&seen, t.mq, queue, policy, &options, trial_accept, NULL);
    trial_wait_text(&seen, "a body of more than ten bytes", PATIENCE);
    ck_assert_int_ge(atomic_load(&own.gets), 3);
    ck_assert_int_eq(acemq_envelope_attempt(trial_sight_at(&seen, 0)->envelope), 3);
    trial_wait_ready(&t, queue, 0, PATIENCE);
    ck_assert_uint_eq(trial_ready(&t, trial_derived(&t, queue, ".parked")), 0);
    trial_must(acemq_claim_store_remove(store, own.key, trial_error()));
    trial_record_end(&seen);
    acemq_policy_free(policy);
    acemq_codec_free(codec);
    acemq_claim_store_free(store);
    trial_end(&t);
}
END_TEST

START_TEST(a_message_whose_object_is_gone_is_parked)
{
    trial t;
    trial_recorder seen;
    shelf own = {0};
    acemq_claim_store *store = NULL;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "gone", ACEMQ_QUEUE_QUORUM);
    acemq_codec *codec = claiming(&own, &store, 0);
    acemq_consumer_options options = decoding(codec);
    send(&t, queue, codec, "gone");
    trial_must(acemq_claim_store_remove(store, own.key, trial_error()));
    acemq_policy *policy = trial_policy("fixed(5, 10ms)");
    trial_record(&seen, t.mq, queue, policy, &options, trial_accept, NULL);
    trial_wait_ready(&t, trial_derived(&t, queue, ".parked"), 1, PATIENCE);
    ck_assert_uint_eq(trial_seen(&seen), 0);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    acemq_codec_free(codec);
    acemq_claim_store_free(store);
    trial_end(&t);
}
END_TEST

START_TEST(a_pulled_delivery_is_opened_too)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "pulled", ACEMQ_QUEUE_CLASSIC);
    acemq_codec *codec = encrypted("k", "0123456789abcdef", acemq_codec_builtin("text"));
    acemq_consumer_options options = decoding(codec);
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    send(&t, queue, codec, "pulled");
    trial_must(acemq_consumer_open(t.mq, queue, &options, &consumer, trial_error()));
    trial_must(acemq_consumer_next(consumer, PATIENCE, &delivery, trial_error()));
    acemq_bytes body = acemq_delivery_body(delivery);
    ck_assert_uint_eq(body.length, 6);
    ck_assert_mem_eq(body.data, "pulled", 6);
    trial_must(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, trial_error()));
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
    acemq_codec_free(codec);
    trial_end(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wrapped bodies");
    TCase *tcase = tcase_create("wrapped bodies");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, a_handler_sees_what_was_encrypted_and_a_hop_carries_what_arrived,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_body_of_an_unknown_key_is_parked_and_its_id_named, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_store_that_fails_is_retried_and_nothing_is_parked, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_message_whose_object_is_gone_is_parked, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_pulled_delivery_is_opened_too, TRIAL_MEMORY, TRIAL_BROKERS);
    suite_add_tcase(suite, tcase);
    return trial_run(suite);
}
