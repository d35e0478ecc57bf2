/* engine/loop.h on one thread, and the waiting of blocking calls; simulation.h says how. */
#include "base/clock.h"
#include "base/thread.h"
#include "engine/loop.h"
#include "engine/waiter.h"
#include "fuzz/fuzz.h"
#include "fuzz/simulated_time.h"
#include "fuzz/simulation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_WATCHES 8
#define MOST_THREADS 16

struct ace_loop {
    ace_link_node node;
    ace_clock *clock;
    ace_task *first;
    ace_task *last;
    bool ended;
    int64_t now;
    ace_timer_heap timers;
    ace_list watches;
    ace_list deferred;
    ace_watch *ready[MOST_WATCHES];
    size_t ready_count;
};

typedef struct started_thread {
    ace_thread_body *body;
    void *user;
} started_thread;

static simulation_broker broker;
static ace_list loops;
static ace_loop *current;
static started_thread threads[MOST_THREADS];
static size_t thread_count;

void simulation_begin(const simulation_broker *with)
{
    broker = *with;
    ace_list_init(&loops);
    current = NULL;
    thread_count = 0;
    simulated_time_reset();
}

void simulation_end(void)
{
    while (thread_count > 0) {
        (void)simulation_run(ACE_NEVER);
    }
    FUZZ_DEMAND(ace_list_empty(&loops));
}

memory_stream *simulation_accept(void);

memory_stream *simulation_accept(void)
{
    return broker.accept(broker.user);
}

/* --- the loop ------------------------------------------------------------------------------- */

ace_code ace_loop_start(const char *name, ace_clock *clock, ace_loop **out, ace_error **error)
{
    ace_loop *loop = calloc(1, sizeof *loop);
    (void)name;
    if (loop == NULL) {
        return ace_fail_memory(error);
    }
    loop->clock = clock;
    loop->now = simulated_time_now();
    ace_list_init(&loop->watches);
    ace_list_init(&loop->deferred);
    ace_list_append(&loops, &loop->node);
    *out = loop;
    return ACE_OK;
}

bool ace_loop_post(ace_loop *loop, ace_task *task)
{
    if (loop->ended) {
        return false;
    }
    task->next = NULL;
    if (loop->first == NULL) {
        loop->first = task;
    } else {
        loop->last->next = task;
    }
    loop->last = task;
    return true;
}

bool ace_loop_post_soon(ace_loop *loop, ace_task *task)
{
    return ace_loop_post(loop, task);
}

void ace_loop_expect(ace_loop *loop)
{
    (void)loop;
}

bool ace_loop_expects(const ace_loop *loop)
{
    (void)loop;
    return false;
}

void ace_loop_hurry(ace_loop *loop)
{
    (void)loop;
}

static bool run_tasks(ace_loop *loop)
{
    ace_task *task = loop->first;
    bool any = task != NULL;
    loop->first = NULL;
    while (task != NULL) {
        ace_task *next = task->next;
        task->run(task);
        task = next;
    }
    return any;
}

static bool run_deferred(ace_loop *loop)
{
    ace_list batch;
    ace_link_node *node;
    bool any = !ace_list_empty(&loop->deferred);
    ace_list_init(&batch);
    ace_list_splice(&batch, &loop->deferred);
    while ((node = ace_list_take_first(&batch)) != NULL) {
        ace_deferral *deferral = ACE_RECORD(node, ace_deferral, node);
        deferral->run(deferral);
    }
    return any;
}

static bool serve_watches(ace_loop *loop)
{
    short answers[MOST_WATCHES];
    bool any = false;
    loop->ready_count = 0;
    for (ace_link_node *node = ace_list_first(&loop->watches); node != NULL;
         node = ace_list_next(&loop->watches, node)) {
        ace_watch *watch = ACE_RECORD(node, ace_watch, node);
        memory_stream *stream = memory_stream_of_descriptor(watch->descriptor);
        FUZZ_DEMAND(stream != NULL && loop->ready_count < MOST_WATCHES);
        answers[loop->ready_count] =
            watch->events == 0 ? 0 : memory_stream_ready(stream, watch->events);
        loop->ready[loop->ready_count++] = watch;
    }
    for (size_t i = 0; i < loop->ready_count; i++) {
        if (loop->ready[i] != NULL && answers[i] != 0) {
            any = true;
            loop->ready[i]->ready(loop->ready[i], answers[i]);
        }
    }
    loop->ready_count = 0;
    return any;
}

static bool turn(ace_loop *loop)
{
    ace_loop *outer = current;
    current = loop;
    loop->now = simulated_time_now();
    bool any = serve_watches(loop);
    any = run_tasks(loop) || any;
    any = ace_timer_run(&loop->timers, loop->now) > 0 || any;
    any = run_deferred(loop) || any;
    current = outer;
    return any;
}

void ace_loop_stop(ace_loop *loop)
{
    FUZZ_DEMAND(current == NULL);
    while (loop->first != NULL) {
        (void)turn(loop);
    }
    current = loop;
    (void)run_deferred(loop);
    current = NULL;
    loop->ended = true;
    ace_list_remove(&loops, &loop->node);
}

void ace_loop_free(ace_loop *loop)
{
    if (loop != NULL) {
        FUZZ_DEMAND(loop->ended);
        ace_timer_heap_free(&loop->timers);
        free(loop);
    }
}

void ace_loop_abandon(ace_loop *loop)
{
    (void)loop;
}

typedef struct call {
    ace_task task;
    void (*run)(void *user);
    void *user;
    bool done;
} call;

static void run_call(ace_task *task)
{
    call *called = ACE_RECORD(task, call, task);
    called->run(called->user);
    called->done = true;
}

bool ace_loop_call(ace_loop *loop, void (*run)(void *user), void *user)
{
    if (current == loop) {
        run(user);
        return true;
    }
    call called = {.task.run = run_call, .run = run, .user = user};
    if (!ace_loop_post(loop, &called.task)) {
        return false;
    }
    while (!called.done) {
        (void)turn(loop);
    }
    return true;
}

void ace_loop_lend(ace_loop *loop, size_t (*in_hand)(void *user), void *user)
{
    (void)loop;
    (void)in_hand;
    (void)user;
}

bool ace_loop_borrow(ace_loop *loop, bool alone)
{
    (void)loop;
    (void)alone;
    return false;
}

ace_code ace_loop_wait(ace_loop *loop, ace_waiter *waiter, int64_t deadline, ace_cancel *cancel)
{
    (void)loop;
    return ace_waiter_wait(waiter, deadline, cancel);
}

void ace_loop_complete(ace_loop *loop, ace_waiter *waiter)
{
    (void)loop;
    ace_waiter_complete(waiter);
}

void ace_loop_receive(ace_loop *loop, ace_receiver *receiver)
{
    (void)loop;
    (void)receiver;
}

void ace_loop_end_receive(ace_loop *loop, ace_receiver *receiver)
{
    (void)loop;
    (void)receiver;
}

bool ace_loop_is_only_receiver(const ace_loop *loop, const ace_receiver *receiver)
{
    (void)loop;
    (void)receiver;
    return false;
}

bool ace_loop_take_turn(ace_loop *loop)
{
    (void)loop;
    return false;
}

void ace_loop_turn_until(ace_loop *loop, bool (*over)(void *user), void *user, int64_t deadline)
{
    (void)loop;
    (void)over;
    (void)user;
    (void)deadline;
}

bool ace_loop_post_quietly(ace_loop *loop, ace_task *task)
{
    return ace_loop_post(loop, task);
}

void ace_loop_stir(ace_loop *loop)
{
    (void)loop;
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

void ace_loop_note_arrival(ace_loop *loop)
{
    (void)loop;
}

bool ace_loop_watch(ace_loop *loop, ace_watch *watch)
{
    ace_list_append(&loop->watches, &watch->node);
    return true;
}

void ace_loop_unwatch(ace_loop *loop, ace_watch *watch)
{
    if (!ace_list_contains_node(&watch->node)) {
        return;
    }
    ace_list_remove(&loop->watches, &watch->node);
    for (size_t i = 0; i < loop->ready_count; i++) {
        if (loop->ready[i] == watch) {
            loop->ready[i] = NULL;
        }
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

/* --- waiting -------------------------------------------------------------------------------- */

static bool run_a_thread(void)
{
    if (thread_count == 0) {
        return false;
    }
    started_thread started = threads[0];
    thread_count--;
    memmove(threads, threads + 1, thread_count * sizeof *threads);
    started.body(started.user);
    return true;
}

static int64_t next_timer(void)
{
    int64_t next = ACE_NEVER;
    for (ace_link_node *node = ace_list_first(&loops); node != NULL;
         node = ace_list_next(&loops, node)) {
        int64_t due = ace_timer_next(&ACE_RECORD(node, ace_loop, node)->timers);
        next = due < next ? due : next;
    }
    return next;
}

bool simulation_run(int64_t deadline)
{
    FUZZ_DEMAND(current == NULL); /* the thread of a loop may not wait */
    bool any = run_a_thread();
    ace_link_node *node = ace_list_first(&loops);
    while (node != NULL) {
        ace_loop *loop = ACE_RECORD(node, ace_loop, node);
        node = ace_list_next(&loops, node);
        any = turn(loop) || any;
    }
    if (any || broker.turn(broker.user)) {
        return true;
    }
    int64_t now = simulated_time_now();
    int64_t next = next_timer();
    if (deadline <= now) {
        return false;
    }
    FUZZ_DEMAND(next != ACE_NEVER || deadline != ACE_NEVER); /* a hang */
    if (next > deadline) {
        simulated_time_advance(deadline - now);
        return false;
    }
    simulated_time_advance(next > now ? next - now : 0);
    return true;
}

/* The linker puts these in the place of the functions without "__wrap_". */
void __wrap_ace_condition_wait(ace_condition *condition, ace_mutex *mutex);
bool __wrap_ace_condition_wait_until(ace_condition *condition, ace_mutex *mutex, int64_t deadline);
bool __wrap_ace_semaphore_wait_until(ace_semaphore *semaphore, int64_t deadline);
ace_code __wrap_ace_thread_start(ace_thread *thread, const char *name, ace_thread_body *body,
                                 void *user, ace_error **error);
int __wrap_pthread_detach(pthread_t thread);
int __wrap_nanosleep(const struct timespec *wait, struct timespec *left);

bool __wrap_ace_condition_wait_until(ace_condition *condition, ace_mutex *mutex, int64_t deadline)
{
    (void)condition;
    ace_mutex_unlock(mutex);
    bool in_time = simulation_run(deadline);
    ace_mutex_lock(mutex);
    return in_time;
}

void __wrap_ace_condition_wait(ace_condition *condition, ace_mutex *mutex)
{
    (void)__wrap_ace_condition_wait_until(condition, mutex, ACE_NEVER);
}

bool __wrap_ace_semaphore_wait_until(ace_semaphore *semaphore, int64_t deadline)
{
    bool taken = sem_trywait(semaphore) == 0;
    bool in_time = true;
    while (!taken && in_time) {
        in_time = simulation_run(deadline);
        taken = sem_trywait(semaphore) == 0;
    }
    return taken;
}

ace_code __wrap_ace_thread_start(ace_thread *thread, const char *name, ace_thread_body *body,
                                 void *user, ace_error **error)
{
    (void)name;
    (void)error;
    FUZZ_DEMAND(thread_count < MOST_THREADS);
    threads[thread_count++] = (started_thread){body, user};
    memset(thread, 0, sizeof *thread);
    return ACE_OK;
}

int __wrap_pthread_detach(pthread_t thread)
{
    (void)thread;
    return 0;
}

int __wrap_nanosleep(const struct timespec *wait, struct timespec *left)
{
    (void)left;
    int64_t end = simulated_time_now() + wait->tv_sec * 1000 + wait->tv_nsec / 1000000;
    while (simulation_run(end)) {
    }
    return 0;
}
