#include "engine/loop_record.h"
#include "engine/waiter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* So many arrivals a millisecond, over at least so many milliseconds, are a flood. */
#define FLOOD_FROM INT64_C(8)
#define FLOOD_SPAN 2

static ace_task ended;
static _Thread_local ace_loop *current;

void ace_loop_stir(ace_loop *loop)
{
    const uint64_t one = 1;
    /* It fails only where the counter is full, and then the loop wakes anyway. */
    ssize_t written = write(loop->wake, &one, sizeof one);
    (void)written;
}

static void clock_advanced(void *user)
{
    ace_loop_stir(user);
}

bool ace_loop_push(ace_loop *loop, ace_task *task)
{
    ace_task *head = atomic_load(&loop->posted);
    do {
        if (head == &ended) {
            return false;
        }
        task->next = head;
    } while (!atomic_compare_exchange_weak(&loop->posted, &head, task));
    return true;
}

void ace_loop_wake(ace_loop *loop)
{
    int before = atomic_exchange(&loop->rest, LOOP_HURRIED);
    if (before == LOOP_FREE) {
        ace_loop_give(loop);
    } else if (before > LOOP_HURRIED) {
        ace_loop_stir(loop);
    }
}

bool ace_loop_post(ace_loop *loop, ace_task *task)
{
    bool pushed = ace_loop_push(loop, task);
    if (pushed) {
        ace_loop_wake(loop);
    }
    return pushed;
}

void ace_loop_expect(ace_loop *loop)
{
    if (!atomic_load(&loop->company)) {
        atomic_store(&loop->company, true);
    }
}

bool ace_loop_expects(const ace_loop *loop)
{
    return atomic_load(&loop->company) || atomic_load(&loop->rest) == LOOP_DOZING;
}

bool ace_loop_post_soon(ace_loop *loop, ace_task *task)
{
    ace_loop_expect(loop);
    bool pushed = ace_loop_push(loop, task);
    /* Falling asleep it sees the task, or this sees it asleep. */
    if (pushed && atomic_load(&loop->rest) >= LOOP_ASLEEP) {
        ace_loop_wake(loop);
    }
    return pushed;
}

bool ace_loop_has_posts(ace_loop *loop)
{
    ace_task *head = atomic_load(&loop->posted);
    return head != NULL && head != &ended;
}

void ace_loop_hurry(ace_loop *loop)
{
    atomic_store(&loop->company, false);
    if (ace_loop_has_posts(loop)) {
        ace_loop_wake(loop);
    }
}

/* After this none that was posted before is left there. */
void ace_loop_take(ace_loop *loop)
{
    ace_task *newest = atomic_exchange(&loop->posted, NULL);
    ace_task *oldest = NULL;
    while (newest != NULL) {
        ace_task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    ace_task **place = &loop->taken;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = oldest;
}

static void run_tasks(ace_loop *loop)
{
    ace_task *task = loop->taken;
    loop->taken = NULL;
    while (task != NULL) {
        ace_task *next = task->next; /* the task may be gone after its run */
        task->run(task);
        task = next;
    }
}

static void run_batch(ace_loop *loop)
{
    ace_list batch;
    ace_list_init(&batch);
    ace_list_splice(&batch, &loop->deferred);
    ace_link_node *node;
    while ((node = ace_list_take_first(&batch)) != NULL) {
        ace_deferral *deferral = ACE_RECORD(node, ace_deferral, node);
        deferral->run(deferral);
    }
}

/* What they defer themselves is mostly the flush of what they wrote, and worth no turn of its own.
 */
static void run_deferred(ace_loop *loop)
{
    run_batch(loop);
    run_batch(loop);
}

static bool reserve_polled(ace_loop *loop, size_t count)
{
    if (count <= loop->polled_capacity) {
        return true;
    }
    size_t capacity = loop->polled_capacity == 0 ? 8 : loop->polled_capacity * 2;
    struct pollfd *polled = realloc(loop->polled, capacity * sizeof *polled);
    if (polled == NULL) {
        return false;
    }
    loop->polled = polled;
    ace_watch **watches = realloc(loop->polled_watches, capacity * sizeof *watches);
    if (watches == NULL) {
        return false;
    }
    loop->polled_watches = watches;
    loop->polled_capacity = capacity;
    return true;
}

static void list_polled(ace_loop *loop)
{
    loop->polled[0] = (struct pollfd){.fd = loop->wake, .events = POLLIN};
    loop->polled_count = 1;
    for (ace_link_node *node = ace_list_first(&loop->watches); node != NULL;
         node = ace_list_next(&loop->watches, node)) {
        ace_watch *watch = ACE_RECORD(node, ace_watch, node);
        /* A negative descriptor is one that poll passes over. */
        int descriptor = watch->events == 0 ? -1 : watch->descriptor;
        loop->polled[loop->polled_count] =
            (struct pollfd){.fd = descriptor, .events = watch->events};
        loop->polled_watches[loop->polled_count] = watch;
        watch->polled = loop->polled_count++;
    }
}

static int sooner(int timeout, int other)
{
    return timeout < 0 || (other >= 0 && other < timeout) ? other : timeout;
}

/* How long to poll. Whatever is posted from here on wakes the loop, or is found within that time.
 */
static int lie_down(ace_loop *loop, int64_t deadline)
{
    int awake = LOOP_AWAKE;
    loop->dozes = atomic_exchange(&loop->company, false) || loop->dozes;
    bool hurried = !atomic_compare_exchange_strong(&loop->rest, &awake,
                                                   loop->dozes ? LOOP_DOZING : LOOP_ASLEEP);
    if (hurried) {
        loop->dozes = false; /* whoever hurries has nothing more to post for the present */
    }
    bool found = !loop->dozes && atomic_load(&loop->posted) != NULL;
    if (hurried || found || loop->taken != NULL || !ace_list_empty(&loop->deferred)) {
        return 0;
    }
    int timeout = ace_clock_poll_timeout(loop->clock, ace_timer_next(&loop->timers));
    timeout = sooner(timeout, ace_clock_poll_timeout(ace_clock_system(), deadline));
    return loop->dozes ? sooner(timeout, ACE_LOOP_DOZE) : timeout;
}

/* What comes in a flood comes during a pause as well, and is read at once: with one wake-up of this
 * thread for ten messages instead of three, which the sender would pay for too. Whoever wakes the
 * loop ends the pause. */
static void pause_in_flood(ace_loop *loop)
{
    const struct timespec pause = {.tv_nsec = ACE_LOOP_PAUSE};
    (void)ppoll(loop->polled, 1, &pause, NULL);
}

void ace_loop_sleep(ace_loop *loop, int64_t deadline)
{
    list_polled(loop);
    int timeout = lie_down(loop, deadline);
    if (loop->flooded && timeout != 0) {
        pause_in_flood(loop);
    }
    int ready = poll(loop->polled, (nfds_t)loop->polled_count, timeout);
    atomic_store(&loop->rest, LOOP_AWAKE);
    if (ready <= 0) { /* the time passed, or a signal that is not ours */
        loop->dozes = false;
        loop->polled_count = 0;
        return;
    }
    if (loop->polled[0].revents != 0) {
        uint64_t count;
        ssize_t got = read(loop->wake, &count, sizeof count);
        (void)got;
        loop->dozes = false; /* as in lie_down() */
    }
}

static void gauge_flood(ace_loop *loop)
{
    int64_t span = loop->now - loop->gauged;
    if (span >= FLOOD_SPAN) {
        loop->flooded = loop->arrivals >= FLOOD_FROM * span;
        loop->arrivals = 0;
        loop->gauged = loop->now;
    }
}

void ace_loop_note_arrival(ace_loop *loop)
{
    loop->arrivals++;
}

void ace_loop_serve(ace_loop *loop)
{
    loop->now = ace_clock_monotonic(loop->clock);
    gauge_flood(loop);
    for (size_t i = 1; i < loop->polled_count; i++) {
        ace_watch *watch = loop->polled_watches[i];
        if (watch != NULL && loop->polled[i].revents != 0) {
            watch->ready(watch, loop->polled[i].revents);
        }
    }
    loop->polled_count = 0;
}

/* From here on posting answers false, and nothing that was posted before is left. */
static void end_posting(ace_loop *loop)
{
    for (;;) {
        ace_task *none = NULL;
        if (atomic_compare_exchange_strong(&loop->posted, &none, &ended)) {
            break;
        }
        ace_loop_take(loop);
        run_tasks(loop);
    }
    run_deferred(loop);
    ace_loop_complete_all(loop);
}

void ace_loop_finish(ace_loop *loop)
{
    run_tasks(loop);
    ace_timer_run(&loop->timers, loop->now);
    run_deferred(loop);
}

static void run_loop(void *user)
{
    ace_loop *loop = user;
    current = loop;
    while (!loop->stopping) {
        ace_loop_sleep(loop, ACE_NEVER);
        ace_loop_serve(loop);
        ace_loop_take(loop);
        ace_loop_finish(loop);
        ace_loop_end_turn(loop);
    }
    end_posting(loop);
    current = NULL;
}

static void release_memory(ace_loop *loop)
{
    ace_semaphore_destroy(&loop->given);
    ace_timer_heap_free(&loop->timers);
    free(loop->polled);
    free(loop->polled_watches);
    free(loop);
}

ace_code ace_loop_start(const char *name, ace_clock *clock, ace_loop **out, ace_error **error)
{
    ace_loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) {
        return ace_fail_memory(error);
    }
    loop->clock = clock;
    loop->now = ace_clock_monotonic(clock);
    ace_list_init(&loop->watches);
    ace_list_init(&loop->deferred);
    ace_list_init(&loop->receivers);
    ace_code code = ace_semaphore_init(&loop->given, error);
    if (code != ACE_OK) {
        free(loop);
        return code;
    }
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake < 0) {
        int reason = errno;
        release_memory(loop);
        return ace_fail_system(error, reason, "eventfd");
    }
    if (!reserve_polled(loop, 1) || ace_clock_watch(clock, clock_advanced, loop) != 0) {
        code = ace_fail_memory(error);
    } else {
        code = ace_thread_start(&loop->thread, name, run_loop, loop, error);
        if (code != ACE_OK) {
            ace_clock_unwatch(clock, clock_advanced, loop);
        }
    }
    if (code != ACE_OK) {
        close(loop->wake);
        release_memory(loop);
        return code;
    }
    *out = loop;
    return ACE_OK;
}

typedef struct stop_task {
    ace_task task;
    ace_loop *loop;
} stop_task;

static void stop_turning(ace_task *task)
{
    ACE_RECORD(task, stop_task, task)->loop->stopping = true;
}

void ace_loop_stop(ace_loop *loop)
{
    stop_task stop = {.task.run = stop_turning, .loop = loop};
    (void)ace_loop_post(loop, &stop.task);
    ace_thread_join(&loop->thread);
    ace_clock_unwatch(loop->clock, clock_advanced, loop);
}

void ace_loop_abandon(ace_loop *loop)
{
    if (!loop->abandoned) {
        loop->abandoned = true;
        close(loop->wake);
    }
}

void ace_loop_free(ace_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (!loop->abandoned) {
        close(loop->wake);
    }
    release_memory(loop);
}

typedef struct call_task {
    ace_task task;
    ace_waiter waiter;
    void (*run)(void *user);
    void *user;
} call_task;

static void run_call(ace_task *task)
{
    call_task *call = ACE_RECORD(task, call_task, task);
    call->run(call->user);
    ace_waiter_complete(&call->waiter);
}

bool ace_loop_call(ace_loop *loop, void (*run)(void *user), void *user)
{
    if (ace_loop_is_current(loop)) {
        run(user);
        return true;
    }
    call_task call = {.task.run = run_call, .run = run, .user = user};
    if (ace_waiter_init(&call.waiter, NULL) != ACE_OK) {
        return false;
    }
    bool posted = ace_loop_post(loop, &call.task);
    if (posted) {
        ace_waiter_finish(&call.waiter);
    }
    ace_waiter_destroy(&call.waiter);
    return posted;
}

void ace_loop_set_current(ace_loop *loop)
{
    current = loop;
}

bool ace_loop_is_current(const ace_loop *loop)
{
    return current == loop;
}

bool ace_loop_is_any_current(void)
{
    return current != NULL;
}

ace_clock *ace_loop_clock(const ace_loop *loop)
{
    return loop->clock;
}

int64_t ace_loop_now(const ace_loop *loop)
{
    return loop->now;
}

bool ace_loop_timer_set(ace_loop *loop, ace_timer *timer, int64_t deadline)
{
    return ace_timer_set(&loop->timers, timer, deadline);
}

void ace_loop_timer_cancel(ace_loop *loop, ace_timer *timer)
{
    ace_timer_cancel(&loop->timers, timer);
}

bool ace_loop_watch(ace_loop *loop, ace_watch *watch)
{
    if (!reserve_polled(loop, loop->watches.count + 2)) {
        return false;
    }
    watch->polled = 0;
    ace_list_append(&loop->watches, &watch->node);
    return true;
}

void ace_loop_unwatch(ace_loop *loop, ace_watch *watch)
{
    if (!ace_list_contains_node(&watch->node)) {
        return;
    }
    ace_list_remove(&loop->watches, &watch->node);
    /* It may be ready in this very turn. */
    if (watch->polled > 0 && watch->polled < loop->polled_count) {
        loop->polled_watches[watch->polled] = NULL;
    }
}

void ace_loop_defer(ace_loop *loop, ace_deferral *deferral)
{
    if (!ace_list_contains_node(&deferral->node)) {
        ace_list_append(&loop->deferred, &deferral->node);
    }
}

void ace_loop_undefer(ace_loop *loop, ace_deferral *deferral)
{
    if (ace_list_contains_node(&deferral->node)) {
        ace_list_remove(&loop->deferred, &deferral->node);
    }
}
