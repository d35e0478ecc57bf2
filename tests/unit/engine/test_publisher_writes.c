/* What waits for the socket leaves together, and the loop is not woken for each. Every sendmsg() of
 * the program is counted here, and every write(), which is what wakes a loop. */
#include "publisher_fixture.h"

#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS     8
#define EACH        100
#define MOST_WRITES 8 /* of 800 messages; the socket may take them in parts */

#define ROUNDS     21
#define WINDOW     64
#define PACE       20000 /* ns between two publishes, as from a slower language */
#define MOST_WAKES 8     /* of 64 publishes, in the usual round: a loaded machine may see more */

static atomic_int writes;
static _Thread_local bool counts; /* on the thread of the publishing link */
static atomic_int wakes;
static _Thread_local bool counts_wakes; /* on the thread that publishes */

__attribute__((visibility("default"))) ssize_t sendmsg(int socket, const struct msghdr *message,
                                                       int flags)
{
    if (counts) {
        atomic_fetch_add(&writes, 1);
    }
    return syscall(SYS_sendmsg, socket, message, flags);
}

__attribute__((visibility("default"))) ssize_t write(int file, const void *bytes, size_t size)
{
    if (counts_wakes) {
        atomic_fetch_add(&wakes, 1);
    }
    return syscall(SYS_write, file, bytes, size);
}

static void script(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < THREADS * EACH; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    }
    peer_ack(side, APPLICATION, THREADS * EACH, true);
    peer_wait_stop(side);
}

/* The loop is at work on something else for as long as the test says. */
typedef struct stay {
    ace_task task;
    sem_t let_go;
} stay;

static void stay_busy(ace_task *task)
{
    stay *here = ACE_RECORD(task, stay, task);
    counts = true;
    (void)sem_wait(&here->let_go);
}

typedef struct submitter {
    publishing *p;
    ace_thread thread;
    ace_publish publishes[EACH];
    atomic_int *ended;
} submitter;

static void submit_each(void *user)
{
    submitter *self = user;
    for (int i = 0; i < EACH; i++) {
        ace_publish *publish = &self->publishes[i];
        encode(self->p, publish, "orders", "id", "body");
        publish->deadline = 0;
        publish->done = done_count;
        publish->user = self->ended;
        ck_assert_int_eq(
            ace_publisher_submit(self->p->publisher, ACE_PUBLISH_APPLICATION, publish, NULL),
            ACE_OK);
    }
}

START_TEST(publishes_of_many_threads_leave_in_a_few_writes)
{
    static submitter submitters[THREADS];
    publishing p;
    stay here = {.task.run = stay_busy};
    atomic_int ended;
    atomic_init(&ended, 0);
    ck_assert_int_eq(sem_init(&here.let_go, 0, 0), 0);
    begin(&p, script, NULL);
    connect_publisher(&p);
    ck_assert(ace_loop_post(ace_link_loop(p.f.link), &here.task));
    for (int i = 0; i < THREADS; i++) {
        submitters[i].p = &p;
        submitters[i].ended = &ended;
        ck_assert_int_eq(
            ace_thread_start(&submitters[i].thread, "submit", submit_each, &submitters[i], NULL),
            ACE_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        ace_thread_join(&submitters[i].thread);
    }
    (void)sem_post(&here.let_go);
    await_count(&ended, THREADS * EACH);
    int seen = atomic_load(&writes);
    ck_assert_msg(seen >= 1 && seen <= MOST_WRITES, "%d messages left in %d writes", THREADS * EACH,
                  seen);
    for (int i = 0; i < THREADS * EACH; i++) {
        ace_publish *publish = &submitters[i / EACH].publishes[i % EACH];
        ck_assert_int_eq(publish->code, ACE_OK);
        ace_publish_clear(publish);
    }
    end(&p);
}
END_TEST

static void windows(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WINDOW; i++) {
            ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
        }
        peer_ack(side, APPLICATION, round * WINDOW, true);
    }
    peer_wait_stop(side);
}

typedef struct window {
    ace_publish publishes[WINDOW];
    atomic_int left;
    sem_t confirmed;
} window;

static void one_less(ace_publish *publish)
{
    window *mine = publish->user;
    ck_assert_int_eq(publish->code, ACE_OK);
    if (atomic_fetch_sub(&mine->left, 1) == 1) {
        (void)sem_post(&mine->confirmed);
    }
}

/* How often the loop was woken for it. */
static int publish_window(publishing *p, window *mine)
{
    const struct timespec pace = {.tv_nsec = PACE};
    atomic_store(&wakes, 0);
    atomic_store(&mine->left, WINDOW);
    counts_wakes = true;
    for (int i = 0; i < WINDOW; i++) {
        ace_publish *publish = &mine->publishes[i];
        ace_publish_clear(publish);
        encode(p, publish, "orders", "id", "body");
        publish->deadline = 0;
        publish->done = one_less;
        publish->user = mine;
        ck_assert_int_eq(
            ace_publisher_submit_soon(p->publisher, ACE_PUBLISH_APPLICATION, publish, NULL),
            ACE_OK);
        (void)nanosleep(&pace, NULL);
    }
    counts_wakes = false;
    ace_publisher_hurry(p->publisher);
    (void)sem_wait(&mine->confirmed);
    return atomic_load(&wakes);
}

static int by_size(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

START_TEST(a_window_that_was_confirmed_whole_is_filled_again_without_waking)
{
    static window mine;
    int seen[ROUNDS];
    publishing p;
    ck_assert_int_eq(sem_init(&mine.confirmed, 0, 0), 0);
    begin(&p, windows, NULL);
    connect_publisher(&p);
    for (int round = 0; round < ROUNDS; round++) {
        seen[round] = publish_window(&p, &mine);
    }
    qsort(seen, ROUNDS, sizeof seen[0], by_size);
    int usual = seen[ROUNDS / 2];
    ck_assert_msg(usual <= MOST_WAKES, "%d publishes woke the loop %d times", WINDOW, usual);
    for (int i = 0; i < WINDOW; i++) {
        ace_publish_clear(&mine.publishes[i]);
    }
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher writes");
    TCase *tests = tcase_create("writes");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, publishes_of_many_threads_leave_in_a_few_writes);
    tcase_add_test(tests, a_window_that_was_confirmed_whole_is_filled_again_without_waking);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
