/* What a claim does to a message's way: handled once, put back, waited for (sections 6 and 9). */
#include "broker/consuming.h"
#include "engine/consumer_state.h"
#include "store/idempotency.h"

/* A store in memory that counts, and fails when it is told to. */
typedef struct fake_store {
    ace_idempotency store;
    ace_idempotency *real;
    atomic_int claims;
    atomic_int confirms;
    atomic_int releases;
    atomic_int renewals;
    atomic_int failing_claims; /* the next so many */
    atomic_int failing_confirms;
    atomic_int failing_releases;
    ace_code failure; /* with which; 0: ACE_STORE */
} fake_store;

static fake_store *fake_of(ace_idempotency *store)
{
    return (fake_store *)(void *)store;
}

static bool fails(atomic_int *left)
{
    int before = atomic_load(left);
    while (before > 0 && !atomic_compare_exchange_weak(left, &before, before - 1)) {
    }
    return before > 0;
}

static ace_code failure_of(const fake_store *fake, ace_error **error)
{
    return ace_fail(error, fake->failure == ACE_OK ? ACE_STORE : fake->failure, "as told");
}

static ace_code fake_claim(ace_idempotency *store, const ace_claim_call *call,
                           ace_claim_answer *answer, ace_error **error)
{
    fake_store *fake = fake_of(store);
    atomic_fetch_add(&fake->claims, 1);
    return fails(&fake->failing_claims)
               ? failure_of(fake, error)
               : fake->real->methods->claim(fake->real, call, answer, error);
}

static ace_code fake_confirm(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    fake_store *fake = fake_of(store);
    atomic_fetch_add(&fake->confirms, 1);
    return fails(&fake->failing_confirms) ? failure_of(fake, error)
                                          : fake->real->methods->confirm(fake->real, call, error);
}

static ace_code fake_release(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    fake_store *fake = fake_of(store);
    atomic_fetch_add(&fake->releases, 1);
    return fails(&fake->failing_releases) ? failure_of(fake, error)
                                          : fake->real->methods->release(fake->real, call, error);
}

static ace_code fake_renew(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    fake_store *fake = fake_of(store);
    atomic_fetch_add(&fake->renewals, 1);
    return fake->real->methods->renew(fake->real, call, error);
}

static void fake_destroy(ace_idempotency *store)
{
    fake_store *fake = fake_of(store);
    ace_idempotency_release(fake->real);
    ace_idempotency_uninit(store);
    free(fake);
}

static const ace_idempotency_methods fake_methods = {
    .claim = fake_claim,
    .confirm = fake_confirm,
    .release = fake_release,
    .renew = fake_renew,
    .destroy = fake_destroy,
};

static ace_clock *clock_of_store;

/* `clock` NULL: the system's. */
static fake_store *new_store(ace_clock *clock)
{
    fake_store *fake = calloc(1, sizeof *fake);
    ace_idempotency_options options = {.clock = clock};
    MUST(ace_idempotency_open("memory:", &options, soon(), &fake->real, &error));
    options = (ace_idempotency_options){.clock = fake->real->clock,
                                        .random = ace_random_system(),
                                        .retention = ACE_CLAIM_RETENTION,
                                        .timeout = 5000};
    MUST(ace_idempotency_init(&fake->store, &fake_methods, &options, &error));
    return fake;
}

typedef struct claim_bench {
    consume_bench bench;
    recorder record;
    ace_policy policy;
    fake_store *fake;
    ace_consumer_options options;
    ace_consumer *consumer;
} claim_bench;

static void begin(claim_bench *self, const char *name, const char *policy)
{
    memset(self, 0, sizeof *self);
    self->fake = new_store(clock_of_store);
    bench_open(&self->bench, name);
    declare_queue(&self->bench, self->bench.queue, "quorum", 0);
    self->policy = policy == NULL ? ace_policy_none() : ace_policy_fixed(3, 10);
    self->options = options_of(&self->bench, &self->record, &self->policy);
    self->options.claims.store = &self->fake->store;
    self->options.claims.put_back_wait = 50;
}

static void start(claim_bench *self)
{
    self->consumer = consume_with(&self->bench, &self->options);
}

static void end(claim_bench *self)
{
    ace_consumer_release(self->consumer);
    bench_close(&self->bench, NULL);
    ace_idempotency_release(&self->fake->store);
}

static ace_claim_answer answer_for(claim_bench *self, const char *key, char *token)
{
    ace_claim_answer answer;
    MUST(ace_idempotency_claim(self->fake->real, ace_bytes_of(key), 60000, soon(), token, &answer,
                               &error));
    return answer;
}

static char token[ACE_CLAIM_TOKEN_MAX + 1];

START_TEST(a_confirmed_duplicate_is_acknowledged_without_the_handler)
{
    claim_bench self;
    begin(&self, "duplicate", NULL);
    start(&self);
    put_with_id(&self.bench, "a", "first");
    AWAIT(counted(self.consumer).acknowledged == 1);
    put_with_id(&self.bench, "a", "second");
    put_with_id(&self.bench, "b", "third");
    AWAIT(counted(self.consumer).acknowledged == 2);
    AWAIT(counted(self.consumer).in_flight == 0);
    AWAIT(counted(self.consumer).duplicates == 1);
    ck_assert_int_eq(atomic_load(&self.record.calls), 2);
    ck_assert_str_eq(self.record.bodies[1], "third");
    ck_assert_int_eq(atomic_load(&self.fake->confirms), 2);
    ck_assert_int_eq(answer_for(&self, "a", token), ACE_CLAIM_DUPLICATE);
    end(&self);
}
END_TEST

START_TEST(a_failed_message_holds_no_claim_while_it_waits)
{
    claim_bench self;
    begin(&self, "failed", "3");
    self.policy = ace_policy_fixed(2, 1500);
    self.record.outcome = ACE_FAILED;
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).waiting == 1);
    ck_assert_int_eq(atomic_load(&self.fake->releases), 1);
    /* So somebody else can take it meanwhile, and it then counts as handled. */
    ck_assert_int_eq(answer_for(&self, "a", token), ACE_CLAIMED);
    MUST(ace_idempotency_confirm(self.fake->real, ace_bytes_of("a"), token, soon(), &error));
    AWAIT(counted(self.consumer).duplicates == 1);
    ck_assert_int_eq(atomic_load(&self.record.calls), 1);
    end(&self);
}
END_TEST

START_TEST(each_attempt_has_a_claim_of_its_own)
{
    claim_bench self;
    begin(&self, "attempts", "3");
    self.record.fail_first = 2;
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&self.record.calls), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(self.record.attempts[i], i + 1);
    }
    ck_assert_int_eq(atomic_load(&self.fake->claims), 3);
    ck_assert_int_eq(atomic_load(&self.fake->releases), 2);
    ck_assert_int_eq(atomic_load(&self.fake->confirms), 1);
    end(&self);
}
END_TEST

START_TEST(a_live_claim_elsewhere_puts_back_with_the_attempt_untouched_also_on_the_last_one)
{
    claim_bench self;
    begin(&self, "progress", "3");
    self.record.outcome = ACE_FAILED;
    ck_assert_int_eq(answer_for(&self, "a", token), ACE_CLAIMED);
    ace_head head;
    head_with_id(&head, "a");
    MUST(ace_table_set_int32(&head.headers, ACE_HEADER_ATTEMPT, 3, &error));
    ace_head_seal(&head);
    start(&self);
    put_raw(&self.bench, self.bench.queue, "x", 1, &head);
    ace_head_release(&head);
    AWAIT(counted(self.consumer).in_progress >= 3);
    ck_assert_int_eq(atomic_load(&self.record.calls), 0);
    ck_assert_uint_eq(counted(self.consumer).rejected, 0);
    ck_assert_int_le((int)count_of(&self.bench, dlq(&self.bench)), 0);
    MUST(ace_idempotency_unclaim(self.fake->real, ace_bytes_of("a"), token, soon(), &error));
    ace_delivery *dead = take_from(&self.bench, dlq(&self.bench));
    ck_assert_int_eq(atomic_load(&self.record.calls), 1);
    ck_assert_int_eq(self.record.attempts[0], 3);
    assert_text(ace_delivery_envelope(dead)->error, "exhausted 3 attempts: no reason given");
    ace_delivery_free(dead);
    end(&self);
}
END_TEST

START_TEST(a_failing_store_is_no_failure_of_the_message_and_no_duplicate)
{
    claim_bench self;
    begin(&self, "store_fails", NULL);
    atomic_store(&self.fake->failing_claims, 1000000);
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).waiting == 1);
    ace_consumer_counters counters = counted(self.consumer);
    ck_assert_uint_eq(counters.store_failures, 1);
    ck_assert_uint_eq(counters.duplicates + counters.acknowledged + counters.rejected, 0);
    ck_assert_int_eq(atomic_load(&self.record.calls), 0);
    /* Shutdown ends the wait: it goes back as it was. */
    ace_consumer_release(self.consumer);
    ace_delivery *back = take_from(&self.bench, self.bench.queue);
    ck_assert_int_eq(ace_delivery_envelope(back)->attempt, 1);
    assert_text(ace_delivery_envelope(back)->id, "a");
    ck_assert_uint_eq(ace_delivery_envelope(back)->error.length, 0);
    ace_delivery_free(back);
    self.consumer = NULL;
    end(&self);
}
END_TEST

START_TEST(what_waited_for_the_store_is_handled_when_that_is_back)
{
    claim_bench self;
    begin(&self, "store_back", NULL);
    atomic_store(&self.fake->failing_claims, 1);
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).acknowledged == 1); /* after 5 s */
    ck_assert_int_eq(self.record.attempts[0], 1);
    ck_assert_int_eq(atomic_load(&self.fake->claims), 2);
    end(&self);
}
END_TEST

/* A handler that is slower than its lease, whose claim somebody takes over. */
static ace_outcome be_overtaken(ace_delivery *delivery, void *user)
{
    claim_bench *self = user;
    (void)delivery;
    ace_clock_advance(clock_of_store, 11000);
    ck_assert_int_eq(answer_for(self, "a", token), ACE_CLAIMED);
    atomic_fetch_add(&self->record.calls, 1);
    return ACE_ACCEPTED;
}

START_TEST(a_confirm_refused_by_fencing_acknowledges_and_counts)
{
    claim_bench self;
    clock_of_store = ace_clock_manual(0, 1700000000000);
    begin(&self, "fenced", NULL);
    self.options.claims.lease = 10000;
    self.options.handler = be_overtaken;
    self.options.user = &self;
    self.options.destructor = NULL;
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).acknowledged == 1);
    AWAIT(counted(self.consumer).fenced == 1);
    MUST(ace_idempotency_confirm(self.fake->real, ace_bytes_of("a"), token, soon(), &error));
    end(&self);
    ace_clock_free(clock_of_store);
    clock_of_store = NULL;
}
END_TEST

START_TEST(a_confirm_is_repeated_and_the_message_acknowledged_after_it)
{
    claim_bench self;
    begin(&self, "repeated", NULL);
    atomic_store(&self.fake->failing_confirms, 2);
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&self.fake->confirms), 3);
    ck_assert_uint_eq(counted(self.consumer).unconfirmed, 0);
    ck_assert_int_eq(answer_for(&self, "a", token), ACE_CLAIM_DUPLICATE);
    end(&self);
}
END_TEST

START_TEST(a_confirm_that_cannot_be_made_while_the_lease_lasts_acknowledges)
{
    claim_bench self;
    begin(&self, "unconfirmed", NULL);
    self.options.claims.lease = 1500;
    atomic_store(&self.fake->failing_confirms, 1000000);
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).acknowledged == 1);
    AWAIT(counted(self.consumer).unconfirmed == 1);
    ck_assert_int_gt(atomic_load(&self.fake->confirms), 1);
    ck_assert_int_eq(atomic_load(&self.record.calls), 1);
    end(&self);
}
END_TEST

START_TEST(what_does_not_decode_takes_no_claim)
{
    claim_bench self;
    begin(&self, "undecodable", NULL);
    self.options.codec = ace_codec_find("json");
    start(&self);
    put_with_id(&self.bench, "a", "{\"broken\":");
    ace_delivery *parked = take_from(&self.bench, named(&self.bench, ".parked"));
    ck_assert_int_eq(atomic_load(&self.fake->claims), 0);
    ace_delivery_free(parked);
    end(&self);
}
END_TEST

static int body_as_key(ace_delivery *delivery, char *key, size_t size, void *user)
{
    (void)user;
    ace_bytes body = ace_delivery_body(delivery);
    if (body.length == 1) {
        return -1;
    }
    return snprintf(key, size, "%.*s", (int)body.length, (const char *)body.data);
}

START_TEST(a_key_of_the_caller_s_own_is_used_and_checked)
{
    claim_bench self;
    begin(&self, "key", NULL);
    self.options.claims.key = body_as_key;
    start(&self);
    char longer[300];
    memset(longer, 'k', sizeof longer);
    put_with_id(&self.bench, "a", "same");
    put_with_id(&self.bench, "b", "same");
    AWAIT(counted(self.consumer).duplicates == 1);
    ck_assert_int_eq(answer_for(&self, "same", token), ACE_CLAIM_DUPLICATE);
    put_raw(&self.bench, self.bench.queue, longer, sizeof longer, NULL);
    ace_delivery *dead = take_from(&self.bench, dlq(&self.bench));
    assert_text(ace_delivery_envelope(dead)->error,
                "the handler reported an unprocessable message: idempotency key has 300 bytes, the "
                "limit is 255");
    ace_delivery_free(dead);
    put_with_id(&self.bench, "c", "x");
    dead = take_from(&self.bench, dlq(&self.bench));
    assert_text(ace_delivery_envelope(dead)->error,
                "exhausted 1 attempts: no idempotency key could be made");
    ace_delivery_free(dead);
    ck_assert_int_eq(atomic_load(&self.record.calls), 1);
    end(&self);
}
END_TEST

/* Cut at the NUL, two messages would have one key, and the second one would be lost. */
START_TEST(an_id_with_a_nul_byte_is_no_key)
{
    claim_bench self;
    begin(&self, "nul", NULL);
    start(&self);
    static const char *const ids[] = {"a\0b", "a\0c"};
    for (int i = 0; i < 2; i++) {
        ace_head head = ACE_HEAD_INIT;
        MUST(ace_table_set_bytes(&head.headers, ACE_HEADER_ID,
                                 (ace_bytes){(const uint8_t *)ids[i], 3}, &error));
        ace_head_seal(&head);
        put_raw(&self.bench, self.bench.queue, "x", 1, &head);
        ace_head_release(&head);
    }
    for (int i = 0; i < 2; i++) {
        ace_delivery *dead = take_from(&self.bench, dlq(&self.bench));
        assert_text(ace_delivery_envelope(dead)->error,
                    "the handler reported an unprocessable message: idempotency key is not UTF-8, "
                    "or has a NUL byte in it");
        ace_delivery_free(dead);
    }
    ck_assert_uint_eq(counted(self.consumer).duplicates, 0);
    ck_assert_int_eq(atomic_load(&self.record.calls), 0);
    end(&self);
}
END_TEST

START_TEST(a_store_is_not_shared_by_two_queues_without_a_key)
{
    claim_bench self;
    begin(&self, "attached", NULL);
    start(&self);
    declare_queue(&self.bench, named(&self.bench, ".second"), "classic", 0);
    ace_consumer_options options = self.options;
    options.queue = named(&self.bench, ".second");
    options.destructor = NULL;
    ace_consumer *second = NULL;
    ace_error *refusal = NULL;
    ck_assert_int_eq(
        ace_consumer_open(self.bench.connection, &options, soon(), NULL, &second, &refusal),
        ACE_STATE);
    ace_error_free(refusal);
    options.claims.key = body_as_key;
    MUST(ace_consumer_open(self.bench.connection, &options, soon(), NULL, &second, &error));
    ace_consumer_release(second);
    delete_queue(&self.bench, named(&self.bench, ".second"));
    delete_queue(&self.bench, named(&self.bench, ".second.dlq"));
    delete_queue(&self.bench, named(&self.bench, ".second.parked"));
    end(&self);
}
END_TEST

static ace_delivery *pull(claim_bench *self)
{
    ace_delivery *delivery = NULL;
    MUST(ace_consumer_next(self->consumer, soon(), NULL, &delivery, &error));
    return delivery;
}

static void begin_pulling(claim_bench *self, const char *name)
{
    begin(self, name, "3");
    self->options.handler = NULL;
    self->options.destructor = NULL;
    start(self);
}

START_TEST(pulled_ones_are_confirmed_released_and_put_back_by_what_is_said_of_them)
{
    claim_bench self;
    begin_pulling(&self, "pulled");
    put_with_id(&self.bench, "accepted", "x");
    ace_delivery *delivery = pull(&self);
    ck_assert_int_eq(answer_for(&self, "accepted", token), ACE_CLAIM_IN_PROGRESS);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ck_assert_int_eq(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, NULL), ACE_SETTLED);
    ace_delivery_free(delivery);
    AWAIT(counted(self.consumer).acknowledged == 1);
    ck_assert_int_eq(answer_for(&self, "accepted", token), ACE_CLAIM_DUPLICATE);
    put_with_id(&self.bench, "failed", "x");
    delivery = pull(&self);
    MUST(ace_delivery_settle(delivery, ACE_FAILED, NULL, &error));
    ace_delivery_free(delivery);
    delivery = pull(&self); /* again, so it was released */
    ck_assert_int_eq(ace_delivery_envelope(delivery)->attempt, 2);
    ace_delivery_free(delivery); /* which puts it back */
    delivery = pull(&self);
    ck_assert_int_eq(ace_delivery_envelope(delivery)->attempt, 2);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    /* Draining waits for the store. */
    MUST(ace_consumer_drain(self.consumer, soon(), NULL, &error));
    AWAIT(counted(self.consumer).acknowledged == 2);
    ck_assert_int_eq(atomic_load(&self.fake->confirms), 2);
    ck_assert_int_eq(atomic_load(&self.fake->releases), 2);
    end(&self);
}
END_TEST

START_TEST(a_pulled_one_waits_for_a_store_that_does_not_confirm_and_blocks_nobody)
{
    claim_bench self;
    begin_pulling(&self, "pulled_slow");
    atomic_store(&self.fake->failing_confirms, 3);
    put_with_id(&self.bench, "a", "x");
    put_with_id(&self.bench, "b", "x");
    for (int i = 0; i < 2; i++) {
        ace_delivery *delivery = pull(&self);
        MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
        ace_delivery_free(delivery);
    }
    AWAIT(counted(self.consumer).acknowledged == 2);
    ck_assert_uint_eq(counted(self.consumer).unconfirmed, 0);
    ck_assert_int_eq(atomic_load(&self.fake->confirms), 5);
    end(&self);
}
END_TEST

START_TEST(a_claim_is_renewed_while_its_handler_runs)
{
    claim_bench self;
    begin(&self, "renewed", NULL);
    self.options.claims.lease = 1500;
    self.options.claims.renews = true;
    atomic_store(&self.record.held, true);
    start(&self);
    put_with_id(&self.bench, "a", "x");
    AWAIT(atomic_load(&self.record.running) == 1);
    nap(2000);
    ck_assert_int_eq(answer_for(&self, "a", token), ACE_CLAIM_IN_PROGRESS);
    atomic_store(&self.record.held, false);
    AWAIT(counted(self.consumer).acknowledged == 1);
    ck_assert_uint_eq(counted(self.consumer).fenced, 0);
    ck_assert_int_ge(atomic_load(&self.fake->renewals), 2);
    end(&self);
}
END_TEST

static void lose_channel(void *link)
{
    ace_error *error = NULL;
    (void)ace_fail(&error, ACE_CONNECTION_LOST, "cut by a test");
    ace_link_fail(link, error);
}

START_TEST(a_message_settled_after_its_channel_was_lost_is_a_duplicate_when_it_comes_again)
{
    claim_bench self;
    begin_pulling(&self, "stale");
    put_with_id(&self.bench, "a", "x");
    ace_delivery *delivery = pull(&self);
    ck_assert(ace_loop_call(self.consumer->loop, lose_channel, self.bench.connection->consuming));
    AWAIT(!ace_consumer_is_subscribed(self.consumer));
    ace_code code = ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, NULL);
    ck_assert(code == ACE_STALE || code == ACE_OK);
    ace_delivery_free(delivery);
    AWAIT(atomic_load(&self.fake->confirms) == 1);
    AWAIT(ace_consumer_next(self.consumer, 0, NULL, &delivery, NULL) == ACE_TIMEOUT &&
          counted(self.consumer).duplicates == 1);
    end(&self);
}
END_TEST

/* Mostly about the store and the threads: on one of the two brokers. */
static void add_to_memory(TCase *tcase)
{
    tcase_add_test(tcase, each_attempt_has_a_claim_of_its_own);
    tcase_add_test(tcase, a_confirm_refused_by_fencing_acknowledges_and_counts);
    tcase_add_test(tcase, a_confirm_is_repeated_and_the_message_acknowledged_after_it);
    tcase_add_test(tcase, a_confirm_that_cannot_be_made_while_the_lease_lasts_acknowledges);
    tcase_add_test(tcase, what_does_not_decode_takes_no_claim);
    tcase_add_test(tcase, a_key_of_the_caller_s_own_is_used_and_checked);
    tcase_add_test(tcase, an_id_with_a_nul_byte_is_no_key);
    tcase_add_test(tcase, a_store_is_not_shared_by_two_queues_without_a_key);
    tcase_add_test(tcase, a_pulled_one_waits_for_a_store_that_does_not_confirm_and_blocks_nobody);
    tcase_add_test(tcase, a_claim_is_renewed_while_its_handler_runs);
    if (getenv("ACEMQ_TEST_LONG") != NULL) {
        tcase_add_test(tcase, what_waited_for_the_store_is_handled_when_that_is_back);
    }
}

static void add_tests(TCase *tcase)
{
    static bool is_second;
    tcase_add_test(tcase, a_confirmed_duplicate_is_acknowledged_without_the_handler);
    tcase_add_test(tcase, a_failed_message_holds_no_claim_while_it_waits);
    tcase_add_test(
        tcase, a_live_claim_elsewhere_puts_back_with_the_attempt_untouched_also_on_the_last_one);
    tcase_add_test(tcase, a_failing_store_is_no_failure_of_the_message_and_no_duplicate);
    tcase_add_test(tcase, pulled_ones_are_confirmed_released_and_put_back_by_what_is_said_of_them);
    tcase_add_test(tcase,
                   a_message_settled_after_its_channel_was_lost_is_a_duplicate_when_it_comes_again);
    if (!is_second) {
        add_to_memory(tcase);
    }
    is_second = true;
}

int main(void)
{
    return run_suite(suite_on_both("idempotency", 60, add_tests));
}
