#include "engine/claims.h"

#include "engine/consumer_state.h"
#include "engine/delivery_state.h"
#include "engine/waiter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPER_IDLE  INT64_C(1000) /* ms without work until the thread ends */
#define RENEWAL_WAIT INT64_C(1000) /* ms after a renewal that failed, at most */

static int64_t now(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

static void say(ace_consumer *consumer, ace_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Unlike ace_consumer_log() on any thread. */
static void say(ace_consumer *consumer, ace_log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ace_log_write(&consumer->connection->settings.log, level, "consumer of %s: %s", consumer->queue,
                  line);
}

static ace_code check_options(const ace_claim_options *options, ace_error **error)
{
    const struct {
        const char *field;
        int64_t value;
        int64_t least;
    } rows[] = {{"lease", options->lease, 1}, {"put-back wait", options->put_back_wait, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].value < rows[i].least || rows[i].value > ACE_CLAIM_LEASE_MAX) {
            ace_code code =
                ace_fail(error, ACE_INVALID_ARGUMENT, "%s is %lld ms, it must be %lld to %lld",
                         rows[i].field, (long long)rows[i].value, (long long)rows[i].least,
                         (long long)ACE_CLAIM_LEASE_MAX);
            ace_error_field(error, rows[i].field, (long long)ACE_CLAIM_LEASE_MAX);
            return code;
        }
    }
    return ACE_OK;
}

ace_code ace_claims_init(ace_claims *claims, const ace_claim_options *options, const char *queue,
                         ace_error **error)
{
    ace_list_init(&claims->claims);
    if (options->store == NULL) {
        return ACE_OK;
    }
    ace_code code = check_options(options, error);
    if (code == ACE_OK) {
        code = ace_mutex_init(&claims->mutex, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    if ((code = ace_condition_init(&claims->work, error)) != ACE_OK) {
        goto no_work;
    }
    if ((code = ace_condition_init(&claims->renewed, error)) != ACE_OK) {
        goto no_renewed;
    }
    if (options->key == NULL &&
        (code = ace_idempotency_attach(options->store, queue, error)) != ACE_OK) {
        goto not_attached;
    }
    claims->options = *options;
    (void)ace_idempotency_keep(options->store);
    claims->is_set_up = true;
    return ACE_OK;
not_attached:
    ace_condition_destroy(&claims->renewed);
no_renewed:
    ace_condition_destroy(&claims->work);
no_work:
    ace_mutex_destroy(&claims->mutex);
    return code;
}

void ace_claims_free(ace_claims *claims)
{
    if (claims->is_set_up) {
        ace_condition_destroy(&claims->renewed);
        ace_condition_destroy(&claims->work);
        ace_mutex_destroy(&claims->mutex);
        ace_idempotency_release(claims->options.store);
    }
}

/* --- taking one --- */

/* `judged`: what becomes of a message whose key is no key. */
static ace_code make_key(ace_delivery *delivery, ace_claim *claim, ace_happening *judged,
                         ace_error **error)
{
    const ace_claim_options *options = &delivery->consumer->claims.options;
    *judged = ACE_HAPPENED_FATAL; /* it will be the same next time */
    if (options->key == NULL) {
        ace_bytes id = delivery->envelope.id;
        ace_code code = ace_claim_key_check(id, error); /* before a NUL in it cuts it short */
        if (code == ACE_OK) {
            memcpy(claim->key, id.data, id.length);
        }
        return code;
    }
    int length = options->key(delivery, claim->key, sizeof claim->key, options->key_user);
    claim->key[sizeof claim->key - 1] = '\0';
    if (length < 0) {
        *judged = ACE_HAPPENED_FAILED;
        return ace_fail(error, ACE_INVALID_ARGUMENT, "no idempotency key could be made");
    }
    if (length > ACE_CLAIM_KEY_MAX) {
        return ace_fail(error, ACE_LIMIT, "idempotency key has %d bytes, the limit is %d", length,
                        ACE_CLAIM_KEY_MAX);
    }
    return ACE_OK;
}

static ace_bytes key_of(const ace_claim *claim)
{
    return ace_bytes_of(claim->key);
}

/* With the lock. Without a thread nothing is renewed, and pulled ones are settled where they are.
 */
static bool call_keeper(ace_consumer *consumer);

static void begin_renewing(ace_consumer *consumer, ace_claim *claim)
{
    ace_claims *claims = &consumer->claims;
    ace_mutex_lock(&claims->mutex);
    claim->due = now() + claims->options.lease / 3;
    ace_list_append(&claims->claims, &claim->node);
    if (!call_keeper(consumer)) {
        ace_list_remove(&claims->claims, &claim->node);
        say(consumer, ACE_LOG_WARNING, "no thread to renew its claims: they end with their lease");
    }
    ace_mutex_unlock(&claims->mutex);
}

/* What the store, or the key, says of it. */
static ace_happening happening_of(ace_code code, ace_claim_answer answer, ace_happening of_key)
{
    switch (code) {
    case ACE_OK:
        return answer == ACE_CLAIM_DUPLICATE ? ACE_HAPPENED_DUPLICATE : ACE_HAPPENED_IN_PROGRESS;
    case ACE_LIMIT:
    case ACE_INVALID_ARGUMENT:
        return of_key;
    default:
        return ACE_HAPPENED_STORE_FAILED;
    }
}

static ace_code try_to_take(ace_delivery *delivery, ace_claim *claim, ace_claim_answer *answer,
                            ace_happening *of_key, ace_error **error)
{
    const ace_claim_options *options = &delivery->consumer->claims.options;
    ace_code code = make_key(delivery, claim, of_key, error);
    if (code != ACE_OK) {
        return code;
    }
    int64_t begun = now();
    claim->until = ace_claim_expiry(begun, options->lease);
    return ace_idempotency_claim(options->store, key_of(claim), options->lease,
                                 ace_claim_expiry(begun, options->store->timeout), claim->token,
                                 answer, error);
}

bool ace_claims_take(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    if (consumer->claims.options.store == NULL) {
        return true;
    }
    ace_claim *claim = calloc(1, sizeof *claim);
    ace_error *error = NULL;
    ace_claim_answer answer = ACE_CLAIM_IN_PROGRESS;
    ace_happening of_key = ACE_HAPPENED_STORE_FAILED;
    ace_code code = claim == NULL ? ace_fail_memory(&error)
                                  : try_to_take(delivery, claim, &answer, &of_key, &error);
    if (code == ACE_OK && answer == ACE_CLAIMED) {
        claim->delivery = delivery;
        delivery->claim = claim;
        if (consumer->claims.options.renews) {
            begin_renewing(consumer, claim);
        }
        return true;
    }
    free(claim);
    ace_happening what = happening_of(code, answer, of_key);
    if (what == ACE_HAPPENED_STORE_FAILED) {
        say(consumer, ACE_LOG_WARNING, "the idempotency store failed, so a message waits: %s",
            ace_error_message(error));
    }
    ace_consumer_judge(delivery, what, code == ACE_OK ? NULL : ace_error_message(error));
    ace_error_free(error);
    return false;
}

/* --- what becomes of it --- */

static bool is_stopping(void *user)
{
    return ((ace_inbox *)user)->closed;
}

static bool stops(ace_consumer *consumer)
{
    return ace_inbox_await(&consumer->inbox, is_stopping, &consumer->inbox, 0, NULL) == ACE_OK;
}

static int64_t call_deadline(const ace_claims *claims)
{
    return ace_claim_expiry(now(), claims->options.store->timeout);
}

static void release(ace_consumer *consumer, const ace_claim *claim)
{
    ace_claims *claims = &consumer->claims;
    ace_error *error = NULL;
    ace_code code = ace_idempotency_unclaim(claims->options.store, key_of(claim), claim->token,
                                            call_deadline(claims), &error);
    if (code == ACE_FENCED) {
        atomic_fetch_add(&claims->fenced, 1);
    } else if (code != ACE_OK) {
        say(consumer, ACE_LOG_WARNING,
            "the claim of a message could not be released, so it ends with its lease: %s",
            ace_error_message(error));
    }
    ace_error_free(error);
}

/* True when there is nothing more to try. The work is done, so the message is acknowledged either
 * way. */
static bool try_to_confirm(ace_consumer *consumer, ace_claim *claim)
{
    ace_claims *claims = &consumer->claims;
    ace_error *error = NULL;
    ace_code code = ace_idempotency_confirm(claims->options.store, key_of(claim), claim->token,
                                            call_deadline(claims), &error);
    claim->back_off = claim->back_off == 0 ? ACE_BACK_OFF_FIRST / 4 : claim->back_off * 2;
    if (claim->back_off > ACE_IN_PROGRESS_WAIT) {
        claim->back_off = ACE_IN_PROGRESS_WAIT;
    }
    bool over = code == ACE_OK || code == ACE_FENCED ||
                ace_claim_expiry(now(), claim->back_off) >= claim->until || stops(consumer);
    if (code == ACE_FENCED) {
        atomic_fetch_add(&claims->fenced, 1);
        say(consumer, ACE_LOG_WARNING,
            "the claim of message %s was taken over before it was handled: it may have been "
            "handled twice; a longer lease, or renewal, prevents that",
            claim->key);
    } else if (over && code != ACE_OK) {
        atomic_fetch_add(&claims->unconfirmed, 1);
        say(consumer, ACE_LOG_ERROR,
            "message %s was handled and is acknowledged, but the store did not take that: %s",
            claim->key, ace_error_message(error));
    }
    ace_error_free(error);
    return over;
}

static bool finish(ace_consumer *consumer, ace_claim *claim)
{
    if (claim->accepted) {
        return try_to_confirm(consumer, claim);
    }
    release(consumer, claim);
    return true;
}

static void end_renewing(ace_claims *claims, ace_claim *claim)
{
    ace_mutex_lock(&claims->mutex);
    while (claim->renewing) {
        ace_condition_wait(&claims->renewed, &claims->mutex);
    }
    if (ace_list_contains_node(&claim->node)) {
        ace_list_remove(&claims->claims, &claim->node);
        ace_condition_signal(&claims->work); /* who waits for its time has nothing to wait for */
    }
    ace_mutex_unlock(&claims->mutex);
}

void ace_claims_forget(ace_delivery *delivery)
{
    if (delivery->claim != NULL) {
        end_renewing(&delivery->consumer->claims, delivery->claim);
        free(delivery->claim);
    }
}

static ace_claim *take_claim(ace_delivery *delivery)
{
    ace_claim *claim = delivery->claim;
    delivery->claim = NULL;
    return claim;
}

static ace_code finish_here(ace_delivery *delivery, ace_claim *claim,
                            const ace_receiver_verdict *verdict, ace_error **error)
{
    ace_consumer *consumer = delivery->consumer;
    while (!finish(consumer, claim)) {
        (void)ace_inbox_await(&consumer->inbox, is_stopping, &consumer->inbox,
                              now() + claim->back_off, NULL);
    }
    free(claim);
    return ace_delivery_post(delivery, verdict, error);
}

ace_code ace_claims_settle(ace_delivery *delivery, const ace_receiver_verdict *verdict,
                           ace_error **error)
{
    ace_consumer *consumer = delivery->consumer;
    ace_claims *claims = &consumer->claims;
    ace_claim *claim = take_claim(delivery);
    end_renewing(claims, claim);
    claim->accepted = !verdict->put_back_unchanged && verdict->what == ACE_HAPPENED_ACCEPTED;
    if (delivery->pushed) {
        return finish_here(delivery, claim, verdict, error);
    }
    bool stale = ace_consumer_is_stale(consumer, delivery);
    delivery->verdict = *verdict;
    ace_mutex_lock(&claims->mutex);
    claim->settling = true;
    claim->due = 0;
    ace_list_append(&claims->claims, &claim->node);
    ace_delivery_keep(delivery);
    bool kept = call_keeper(consumer);
    if (!kept) {
        ace_list_remove(&claims->claims, &claim->node);
    }
    ace_mutex_unlock(&claims->mutex);
    if (!kept) {
        ace_code code = finish_here(delivery, claim, verdict, error);
        ace_delivery_unref(delivery);
        return code;
    }
    ace_delivery_untake(delivery); /* who drains waits for the keeper */
    return stale ? ace_fail(error, ACE_STALE,
                            "the delivery's channel is gone; the broker delivers it again")
                 : ACE_OK;
}

/* --- the keeper --- */

static void keep_renewing(ace_consumer *consumer, ace_claim *claim)
{
    ace_claims *claims = &consumer->claims;
    int64_t lease = claims->options.lease;
    ace_error *error = NULL;
    int64_t begun = now();
    ace_code code = ace_idempotency_renew(claims->options.store, key_of(claim), claim->token, lease,
                                          call_deadline(claims), &error);
    if (code == ACE_OK) {
        claim->until = ace_claim_expiry(begun, lease);
    } else {
        say(consumer, ACE_LOG_WARNING, "the claim of message %s could not be renewed: %s",
            claim->key, ace_error_message(error));
    }
    ace_error_free(error);
    bool again = code != ACE_OK && code != ACE_FENCED && lease / 3 > RENEWAL_WAIT;
    claim->due = now() + (again ? RENEWAL_WAIT : lease / 3 + (lease < 3 ? 1 : 0));
    if (code == ACE_FENCED) {
        claim->due = ACE_NEVER;
    }
}

static void keep_settling(ace_consumer *consumer, ace_claim *claim)
{
    ace_claims *claims = &consumer->claims;
    if (!finish(consumer, claim)) {
        ace_mutex_lock(&claims->mutex);
        claim->due = now() + claim->back_off;
        ace_list_append(&claims->claims, &claim->node);
        ace_mutex_unlock(&claims->mutex);
        return;
    }
    ace_delivery *delivery = claim->delivery;
    ace_receiver_verdict verdict = delivery->verdict;
    free(claim);
    (void)ace_delivery_post(delivery, &verdict, NULL);
    ace_delivery_unref(delivery);
}

/* The one whose time comes first. With the lock. */
static ace_claim *first_due(const ace_claims *claims)
{
    ace_claim *first = NULL;
    for (ace_link_node *node = ace_list_first(&claims->claims); node != NULL;
         node = ace_list_next(&claims->claims, node)) {
        ace_claim *each = ACE_RECORD(node, ace_claim, node);
        if (first == NULL || each->due < first->due) {
            first = each;
        }
    }
    return first;
}

/* Does one thing. False: there was nothing to do for a while. With the lock. */
static bool keep_one(ace_consumer *consumer)
{
    ace_claims *claims = &consumer->claims;
    ace_claim *claim = first_due(claims);
    int64_t time = now();
    if (claim == NULL || claim->due > time) {
        int64_t due = claim == NULL ? time + KEEPER_IDLE : claim->due;
        bool woken = ace_condition_wait_until(&claims->work, &claims->mutex, due);
        return woken || claim != NULL || !ace_list_empty(&claims->claims);
    }
    if (claim->settling) {
        ace_list_remove(&claims->claims, &claim->node);
        ace_mutex_unlock(&claims->mutex);
        keep_settling(consumer, claim);
        ace_mutex_lock(&claims->mutex);
        return true;
    }
    claim->renewing = true; /* it stays where it is until we are done */
    ace_mutex_unlock(&claims->mutex);
    keep_renewing(consumer, claim);
    ace_mutex_lock(&claims->mutex);
    claim->renewing = false;
    ace_condition_broadcast(&claims->renewed);
    return true;
}

static void keep(void *user)
{
    ace_consumer *consumer = user;
    ace_claims *claims = &consumer->claims;
    ace_mutex_lock(&claims->mutex);
    while (keep_one(consumer)) {
    }
    claims->has_keeper = false;
    ace_mutex_unlock(&claims->mutex);
    ace_consumer_unref(consumer);
}

static bool call_keeper(ace_consumer *consumer)
{
    ace_claims *claims = &consumer->claims;
    if (claims->has_keeper) {
        ace_condition_signal(&claims->work);
        return true;
    }
    ace_handle_retain(&consumer->handle);
    ace_thread thread;
    if (ace_thread_start(&thread, "acemq-claims", keep, consumer, NULL) != ACE_OK) {
        ace_handle_release(&consumer->handle); /* not the last: the delivery has one */
        return false;
    }
    (void)pthread_detach(thread.id);
    claims->has_keeper = true;
    return true;
}

void ace_claims_stir(ace_claims *claims)
{
    if (claims->is_set_up) {
        ace_mutex_lock(&claims->mutex);
        for (ace_link_node *node = ace_list_first(&claims->claims); node != NULL;
             node = ace_list_next(&claims->claims, node)) {
            ace_claim *each = ACE_RECORD(node, ace_claim, node);
            each->due = each->settling ? 0 : each->due;
        }
        ace_condition_signal(&claims->work);
        ace_mutex_unlock(&claims->mutex);
    }
}
