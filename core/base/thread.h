/* Threads of the library, and the locks between them. Every thread made here blocks all signals but
 * those of its own faults (SIGSEGV and the like), and carries a name. Locks abort on misuse that
 * POSIX reports (EDEADLK, EPERM), since going on would corrupt; nothing else here aborts. */
#ifndef ACE_BASE_THREAD_H
#define ACE_BASE_THREAD_H

#include "base/error.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t ace_mutex;
typedef pthread_cond_t ace_condition;
typedef sem_t ace_semaphore;

typedef void ace_thread_body(void *user);

typedef struct ace_thread {
    pthread_t id;
    bool started;
} ace_thread;

/* `name` is cut at 15 bytes. */
ace_code ace_thread_start(ace_thread *thread, const char *name, ace_thread_body *body, void *user,
                          ace_error **error);
void ace_thread_join(ace_thread *thread); /* fine when not started; never from the thread itself */
bool ace_thread_is_current(const ace_thread *thread);

ace_code ace_mutex_init(ace_mutex *mutex, ace_error **error);
void ace_mutex_lock(ace_mutex *mutex);
void ace_mutex_unlock(ace_mutex *mutex);
void ace_mutex_destroy(ace_mutex *mutex);

ace_code ace_condition_init(ace_condition *condition, ace_error **error); /* on CLOCK_MONOTONIC */
void ace_condition_wait(ace_condition *condition, ace_mutex *mutex);
/* `deadline` is ace_clock_monotonic() of the system clock; ACE_NEVER waits for ever. False: it
 * passed. */
bool ace_condition_wait_until(ace_condition *condition, ace_mutex *mutex, int64_t deadline);
void ace_condition_signal(ace_condition *condition);
void ace_condition_broadcast(ace_condition *condition);
void ace_condition_destroy(ace_condition *condition);

/* A count of posts not taken yet, 0 at first. Whoever took a post may destroy the semaphore: the
 * thread that posted it does not touch it any more. */
ace_code ace_semaphore_init(ace_semaphore *semaphore, ace_error **error);
void ace_semaphore_post(ace_semaphore *semaphore);
/* As ace_condition_wait_until(). */
bool ace_semaphore_wait_until(ace_semaphore *semaphore, int64_t deadline);
void ace_semaphore_destroy(ace_semaphore *semaphore);

#endif
