#include "base/thread.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST_NAME 15

typedef struct thread_start {
    ace_thread_body *body;
    void *user;
    sem_t started; /* posted once ace_thread_start() has written the thread's id */
    char name[LONGEST_NAME + 1];
} thread_start;

static _Noreturn void stop_on_misuse(const char *what, int error_number)
{
    char space[128];
    fprintf(stderr, "acemq: %s: %s\n", what, strerror_r(error_number, space, sizeof space));
    abort();
}

static void must(int error_number, const char *what)
{
    if (error_number != 0) {
        stop_on_misuse(what, error_number);
    }
}

static void *run_thread(void *argument)
{
    thread_start *start = argument;
    ace_thread_body *body = start->body;
    void *user = start->user;
    /* A thread without its name is only harder to find in a debugger. */
    (void)pthread_setname_np(pthread_self(), start->name);
    /* The body may ask ace_thread_is_current() at once. */
    while (sem_wait(&start->started) != 0 && errno == EINTR) {
    }
    sem_destroy(&start->started);
    free(start);
    body(user);
    return NULL;
}

/* What a thread does to itself: blocked, the kernel ends the process past every handler, of a
 * language's runtime or of a crash reporter, and handlers of the application run on our threads. */
static void leave_faults(sigset_t *signals)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(signals, faults[i]);
    }
}

static int create_without_signals(pthread_t *id, thread_start *start)
{
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    leave_faults(&every);
    int result = pthread_sigmask(SIG_SETMASK, &every, &before);
    if (result != 0) {
        return result;
    }
    result = pthread_create(id, NULL, run_thread, start);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

ace_code ace_thread_start(ace_thread *thread, const char *name, ace_thread_body *body, void *user,
                          ace_error **error)
{
    thread->started = false;
    thread_start *start = calloc(1, sizeof *start);
    if (start == NULL) {
        return ace_fail_memory(error);
    }
    start->body = body;
    start->user = user;
    size_t length = strlen(name);
    memcpy(start->name, name, length > LONGEST_NAME ? LONGEST_NAME : length);
    if (sem_init(&start->started, 0, 0) != 0) {
        int reason = errno;
        free(start);
        return ace_fail_system(error, reason, "sem_init");
    }
    int result = create_without_signals(&thread->id, start);
    if (result != 0) {
        sem_destroy(&start->started);
        free(start);
        return ace_fail_system(error, result, "pthread_create");
    }
    thread->started = true;
    sem_post(&start->started);
    return ACE_OK;
}

void ace_thread_join(ace_thread *thread)
{
    if (!thread->started) {
        return;
    }
    must(pthread_join(thread->id, NULL), "pthread_join");
    thread->started = false;
}

bool ace_thread_is_current(const ace_thread *thread)
{
    return thread->started && pthread_equal(thread->id, pthread_self()) != 0;
}

ace_code ace_mutex_init(ace_mutex *mutex, ace_error **error)
{
    pthread_mutexattr_t attributes;
    int result = pthread_mutexattr_init(&attributes);
    if (result != 0) {
        return ace_fail_system(error, result, "pthread_mutexattr_init");
    }
    /* The kind that reports a second lock by the same thread, and an unlock by another one. */
    result = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    if (result == 0) {
        result = pthread_mutex_init(mutex, &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
    return result == 0 ? ACE_OK : ace_fail_system(error, result, "pthread_mutex_init");
}

void ace_mutex_lock(ace_mutex *mutex)
{
    must(pthread_mutex_lock(mutex), "pthread_mutex_lock");
}

void ace_mutex_unlock(ace_mutex *mutex)
{
    must(pthread_mutex_unlock(mutex), "pthread_mutex_unlock");
}

void ace_mutex_destroy(ace_mutex *mutex)
{
    /* EBUSY is what a child sees that frees a handle whose lock its parent held at the fork. */
    int result = pthread_mutex_destroy(mutex);
    if (result != EBUSY) {
        must(result, "pthread_mutex_destroy");
    }
}

ace_code ace_condition_init(ace_condition *condition, ace_error **error)
{
    pthread_condattr_t attributes;
    int result = pthread_condattr_init(&attributes);
    if (result != 0) {
        return ace_fail_system(error, result, "pthread_condattr_init");
    }
    result = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (result == 0) {
        result = pthread_cond_init(condition, &attributes);
    }
    pthread_condattr_destroy(&attributes);
    return result == 0 ? ACE_OK : ace_fail_system(error, result, "pthread_cond_init");
}

void ace_condition_wait(ace_condition *condition, ace_mutex *mutex)
{
    must(pthread_cond_wait(condition, mutex), "pthread_cond_wait");
}

static struct timespec moment(int64_t milliseconds)
{
    int64_t from_zero = milliseconds < 0 ? 0 : milliseconds;
    return (struct timespec){.tv_sec = (time_t)(from_zero / 1000),
                             .tv_nsec = (long)(from_zero % 1000) * 1000000};
}

bool ace_condition_wait_until(ace_condition *condition, ace_mutex *mutex, int64_t deadline)
{
    if (deadline == ACE_NEVER) {
        ace_condition_wait(condition, mutex);
        return true;
    }
    struct timespec until = moment(deadline);
    int result = pthread_cond_timedwait(condition, mutex, &until);
    if (result == ETIMEDOUT) {
        return false;
    }
    must(result, "pthread_cond_timedwait");
    return true;
}

void ace_condition_signal(ace_condition *condition)
{
    must(pthread_cond_signal(condition), "pthread_cond_signal");
}

void ace_condition_broadcast(ace_condition *condition)
{
    must(pthread_cond_broadcast(condition), "pthread_cond_broadcast");
}

void ace_condition_destroy(ace_condition *condition)
{
    must(pthread_cond_destroy(condition), "pthread_cond_destroy");
}

ace_code ace_semaphore_init(ace_semaphore *semaphore, ace_error **error)
{
    return sem_init(semaphore, 0, 0) == 0 ? ACE_OK : ace_fail_system(error, errno, "sem_init");
}

void ace_semaphore_post(ace_semaphore *semaphore)
{
    must(sem_post(semaphore) == 0 ? 0 : errno, "sem_post");
}

bool ace_semaphore_wait_until(ace_semaphore *semaphore, int64_t deadline)
{
    struct timespec until = moment(deadline == ACE_NEVER ? 0 : deadline);
    for (;;) {
        int result = deadline == ACE_NEVER ? sem_wait(semaphore)
                                           : sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
        int reason = result == 0 ? 0 : errno;
        if (reason == ETIMEDOUT) {
            return false;
        }
        if (reason != EINTR) {
            must(reason, "sem_clockwait");
            return true;
        }
    }
}

void ace_semaphore_destroy(ace_semaphore *semaphore)
{
    must(sem_destroy(semaphore) == 0 ? 0 : errno, "sem_destroy");
}
