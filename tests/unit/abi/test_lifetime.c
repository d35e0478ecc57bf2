/* Handles: freed in any order, used after their parent was closed, and in a child of fork. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* One of every kind of handle. */
typedef struct family {
    acemq_connection *mq;
    acemq_publisher *publisher;
    acemq_receipt *receipt;
    acemq_consumer *consumer;
    acemq_delivery *delivery;
    acemq_browser *browser;
    acemq_message *message;
} family;

static void begin(family *all)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONFIRM;
    all->mq = connect_with("memory://lifetime", &options);
    declare_queue(all->mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
    declare_queue(all->mq, "other", ACEMQ_QUEUE_CLASSIC, 0);
    all->message = acemq_message_text("hello");
    MUST(acemq_publisher_new(all->mq, NULL, &all->publisher, &error));
    MUST(acemq_publisher_begin(all->publisher, "q", all->message, 5000, &all->receipt, &error));
    MUST(acemq_receipt_wait(all->receipt, 5000, &error));
    MUST(acemq_consumer_open(all->mq, "q", NULL, &all->consumer, &error));
    MUST(acemq_consumer_next(all->consumer, 5000, &all->delivery, &error));
    MUST(acemq_browser_open(all->mq, "other", NULL, &all->browser, &error));
}

#define KINDS 6

static void free_one(family *all, int kind)
{
    switch (kind) {
    case 0:
        acemq_connection_free(all->mq);
        break;
    case 1:
        acemq_publisher_free(all->publisher);
        break;
    case 2:
        acemq_receipt_free(all->receipt);
        break;
    case 3:
        acemq_consumer_free(all->consumer);
        break;
    case 4:
        acemq_delivery_free(all->delivery);
        break;
    default:
        acemq_browser_free(all->browser);
        break;
    }
}

/* All 720 orders, as a garbage collector might choose them: a step of seven through them keeps the
 * first and the last handle varied. */
START_TEST(handles_are_freed_in_any_order)
{
    int order[KINDS] = {0, 1, 2, 3, 4, 5};
    int code = _i * 7 % 720;
    for (int i = KINDS - 1; i > 0; i--) {
        int swap = code % (i + 1);
        int held = order[i];
        code /= i + 1;
        order[i] = order[swap];
        order[swap] = held;
    }
    family all;
    begin(&all);
    for (int i = 0; i < KINDS; i++) {
        free_one(&all, order[i]);
    }
    acemq_message_free(all.message);
}
END_TEST

START_TEST(children_of_a_closed_client_say_closed)
{
    family all;
    const acemq_delivery *seen;
    acemq_delivery *next = NULL;
    uint64_t count;
    begin(&all);
    MUST(acemq_connection_close(all.mq, 5000, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_connection_close(all.mq, 5000, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_publish(all.mq, "q", all.message, 100, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_publisher_send(all.publisher, "q", all.message, 100, &error));
    MUST_FAIL(ACEMQ_E_CLOSED,
              acemq_publisher_submit(all.publisher, "q", all.message, 100, 1, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_queue_count(all.mq, "q", 100, &count, NULL, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_browser_next(all.browser, &seen, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_consumer_next(all.consumer, 100, &next, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_replay(all.mq, "q", NULL, NULL, &error));
    acemq_status settled = acemq_delivery_settle(all.delivery, ACEMQ_ACCEPTED, NULL, NULL);
    ck_assert(settled == ACEMQ_E_CLOSED || settled == ACEMQ_E_STALE);
    /* What was known before still is. */
    MUST(acemq_receipt_wait(all.receipt, 0, &error));
    ck_assert_str_eq(acemq_delivery_queue(all.delivery), "q");
    acemq_error *reason = NULL;
    ck_assert_int_eq(acemq_connection_get_state(all.mq, &reason), ACEMQ_CONNECTION_CLOSED);
    ck_assert_int_eq(acemq_error_code(reason), ACEMQ_E_CLOSED);
    acemq_error_free(reason);
    for (int i = 0; i < KINDS; i++) {
        free_one(&all, i);
    }
    acemq_message_free(all.message);
}
END_TEST

START_TEST(a_closed_consumer_says_closed)
{
    family all;
    acemq_delivery *next = NULL;
    acemq_consumer_counters counters = {.size = sizeof counters};
    begin(&all);
    MUST(acemq_consumer_close(all.consumer, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_consumer_close(all.consumer, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_consumer_next(all.consumer, 0, &next, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_consumer_drain(all.consumer, 0, NULL, &error));
    MUST(acemq_consumer_get_counters(all.consumer, &counters, &error));
    ck_assert_uint_eq(counters.delivered, 1);
    ck_assert_int_eq(acemq_consumer_subscribed(all.consumer), 0);
    /* What it holds is settled when it is said so. */
    MUST(acemq_delivery_settle(all.delivery, ACEMQ_ACCEPTED, NULL, &error));
    MUST_FAIL(ACEMQ_E_SETTLED, acemq_delivery_settle(all.delivery, ACEMQ_FAILED, NULL, &error));
    MUST_FAIL(ACEMQ_E_SETTLED, acemq_delivery_put_back(all.delivery, &error));
    for (int i = KINDS - 1; i >= 0; i--) {
        free_one(&all, i);
    }
    acemq_message_free(all.message);
}
END_TEST

/* --- fork --- */

/* Runs in a child and answers the number of the first thing that is wrong. */
static int use_in_child(family *all)
{
    const acemq_delivery *seen;
    acemq_delivery *next = NULL;
    acemq_event *event = NULL;
    acemq_error *reason = NULL;
    uint64_t count;
    const acemq_status answers[] = {
        acemq_publish(all->mq, "q", all->message, 100, NULL),
        acemq_publisher_send(all->publisher, "q", all->message, 100, NULL),
        acemq_publisher_send_async(all->publisher, "q", all->message, 100, NULL, NULL, NULL),
        acemq_receipt_wait(all->receipt, 100, NULL),
        acemq_consumer_next(all->consumer, 100, &next, NULL),
        acemq_consumer_drain(all->consumer, 100, NULL, NULL),
        acemq_consumer_close(all->consumer, NULL),
        acemq_delivery_settle(all->delivery, ACEMQ_ACCEPTED, NULL, NULL),
        acemq_delivery_put_back(all->delivery, NULL),
        acemq_browser_next(all->browser, &seen, NULL),
        acemq_browser_remove(all->browser, NULL),
        acemq_queue_count(all->mq, "q", 100, &count, NULL, NULL),
        acemq_replay(all->mq, "q", NULL, NULL, NULL),
        acemq_connection_next_event(all->mq, 100, &event, NULL),
        acemq_connection_pause_publishing(all->mq, NULL),
        acemq_connection_close(all->mq, 100, NULL),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i] != ACEMQ_E_FORKED) {
            return (int)i + 1;
        }
    }
    if (acemq_connection_get_state(all->mq, &reason) != ACEMQ_CONNECTION_CLOSED ||
        acemq_error_code(reason) != ACEMQ_E_FORKED) {
        return 100;
    }
    acemq_error_free(reason);
    return 0;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        count += fcntl(descriptor, F_GETFD) >= 0;
    }
    return count;
}

static int child(family *all, int descriptors_before)
{
    int wrong = use_in_child(all);
    for (int i = 0; i < KINDS; i++) {
        free_one(all, KINDS - 1 - i);
    }
    /* A copy left open would keep the parent's messages at the broker after its death. */
    return wrong != 0 ? wrong : count_descriptors() > descriptors_before ? 101 : 0;
}

START_TEST(a_child_of_fork_is_refused_and_frees_without_harm)
{
    int descriptors = count_descriptors();
    family all;
    begin(&all);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        alarm(20);
        _exit(child(&all, descriptors));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0, "in the child, number %d is wrong",
                  WEXITSTATUS(status));
    /* And the parent has noticed nothing. */
    MUST(acemq_publish(all.mq, "q", all.message, 5000, &error));
    MUST(acemq_delivery_settle(all.delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(all.delivery);
    MUST(acemq_consumer_next(all.consumer, 5000, &all.delivery, &error));
    for (int i = 0; i < KINDS; i++) {
        free_one(&all, i);
    }
    acemq_message_free(all.message);
}
END_TEST

/* Threads that hold every lock of the library again and again. */
typedef struct bustle {
    family all;
    acemq_consumer *pushed;
    atomic_bool over;
    atomic_int published, handled;
} bustle;

static void *publish_on(void *user)
{
    bustle *self = user;
    acemq_message *message = acemq_message_text("bustle");
    while (!atomic_load(&self->over)) {
        MUST(acemq_publish(self->all.mq, "busy", message, 30000, &error));
        atomic_fetch_add(&self->published, 1);
    }
    acemq_message_free(message);
    return NULL;
}

static void *look_around(void *user)
{
    bustle *self = user;
    while (!atomic_load(&self->over)) {
        acemq_event *event = NULL;
        uint64_t ready;
        (void)acemq_connection_get_state(self->all.mq, NULL);
        (void)acemq_connection_next_event(self->all.mq, 1, &event, NULL);
        (void)acemq_queue_count(self->all.mq, "busy", 30000, &ready, NULL, NULL);
    }
    return NULL;
}

static acemq_outcome handle_on(acemq_delivery *delivery, void *user)
{
    bustle *self = user;
    (void)delivery;
    atomic_fetch_add(&self->handled, 1);
    return ACEMQ_ACCEPTED;
}

/* The child has none of those threads, and some of their locks are held for ever. */
START_TEST(a_child_forked_while_other_threads_hold_locks_is_refused_and_frees_without_harm)
{
    enum { FORKS = 25, THREADS = 4 };
    int descriptors = count_descriptors();
    bustle self = {0};
    pthread_t threads[THREADS];
    begin(&self.all);
    declare_queue(self.all.mq, "busy", ACEMQ_QUEUE_CLASSIC, 0);
    MUST(acemq_consume(self.all.mq, "busy", NULL, handle_on, &self, NULL, &self.pushed, &error));
    for (int i = 0; i < THREADS; i++) {
        void *(*run)(void *) = i % 2 == 0 ? publish_on : look_around;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &self), 0);
    }
    for (int i = 0; i < FORKS; i++) {
        int before = atomic_load(&self.published);
        while (atomic_load(&self.published) < before + 3) {
            sched_yield();
        }
        pid_t pid = fork();
        if (pid == 0) { /* asserting nothing: another thread may have held Check's lock */
            alarm(20);
            acemq_consumer_free(self.pushed);
            _exit(child(&self.all, descriptors));
        }
        ck_assert_int_ge(pid, 0);
        int status;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(WIFEXITED(status), "the child ended by signal %d", WTERMSIG(status));
        ck_assert_msg(WEXITSTATUS(status) == 0, "in the child, number %d is wrong",
                      WEXITSTATUS(status));
    }
    atomic_store(&self.over, true);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    /* The parent has lost nothing. */
    for (int i = 0; i < 3000 && atomic_load(&self.handled) < atomic_load(&self.published); i++) {
        usleep(10000);
    }
    ck_assert_int_eq(atomic_load(&self.handled), atomic_load(&self.published));
    acemq_consumer_free(self.pushed);
    for (int i = 0; i < KINDS; i++) {
        free_one(&self.all, i);
    }
    acemq_message_free(self.all.message);
}
END_TEST

/* Also when it is the client alone that the child has. */
START_TEST(a_child_of_fork_frees_a_lone_client)
{
    int descriptors = count_descriptors();
    acemq_connection *mq = connect_with("memory://lone", NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        alarm(20);
        acemq_connection_free(mq);
        _exit(count_descriptors() > descriptors ? 1 : 0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    MUST(acemq_connection_close(mq, 5000, &error));
    acemq_connection_free(mq);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* which follows no threads that a child of fork starts */
START_TEST(a_child_of_fork_makes_clients_of_its_own)
{
    family all;
    begin(&all);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        alarm(20);
        acemq_connection *mq = NULL;
        if (acemq_connect("memory://of-the-child", NULL, &mq, NULL) != ACEMQ_OK) {
            _exit(1);
        }
        acemq_status status = acemq_publish(mq, "nowhere", all.message, 5000, NULL);
        acemq_connection_free(mq);
        _exit(status == ACEMQ_E_UNROUTABLE ? 0 : 2);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    for (int i = 0; i < KINDS; i++) {
        free_one(&all, i);
    }
    acemq_message_free(all.message);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("abi lifetime");
    TCase *orders = tcase_create("orders");
    tcase_add_loop_test(orders, handles_are_freed_in_any_order, 0, 60);
    tcase_set_timeout(orders, 60);
    suite_add_tcase(suite, orders);
    TCase *closed = tcase_create("closed");
    tcase_add_test(closed, children_of_a_closed_client_say_closed);
    tcase_add_test(closed, a_closed_consumer_says_closed);
    tcase_set_timeout(closed, 60);
    suite_add_tcase(suite, closed);
    TCase *forked = tcase_create("fork");
    tcase_add_test(forked, a_child_of_fork_is_refused_and_frees_without_harm);
    tcase_add_test(forked,
                   a_child_forked_while_other_threads_hold_locks_is_refused_and_frees_without_harm);
    tcase_add_test(forked, a_child_of_fork_frees_a_lone_client);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(forked, a_child_of_fork_makes_clients_of_its_own);
#endif
    tcase_set_timeout(forked, 60);
    suite_add_tcase(suite, forked);
    return run_suite(suite);
}
