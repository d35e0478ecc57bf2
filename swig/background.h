/*
 * Freeing beside a collector that must not be held up: closing a connection may take a second. When
 * the process ends, what is under way is waited for, and the rest is freed at once.
 */
#ifndef ACEMQ_SWIG_BACKGROUND_H
#define ACEMQ_SWIG_BACKGROUND_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { BACKGROUND_PATIENCE_S = 20 };

typedef struct background_task {
    void (*run)(void *object);
    void *object;
} background_task;

static pthread_mutex_t background_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t background_done = PTHREAD_COND_INITIALIZER;
static int background_running;
static int background_is_over;

static void *background_main(void *given)
{
    background_task task = *(background_task *)given;
    free(given);
    task.run(task.object);
    pthread_mutex_lock(&background_mutex);
    background_running--;
    pthread_cond_broadcast(&background_done);
    pthread_mutex_unlock(&background_mutex);
    return NULL;
}

/* 0 when there is no thread for it. */
static int background_begin(background_task *task)
{
    pthread_t thread;
    pthread_mutex_lock(&background_mutex);
    int begun = !background_is_over && pthread_create(&thread, NULL, background_main, task) == 0;
    if (begun) {
        pthread_detach(thread);
        background_running++;
    }
    pthread_mutex_unlock(&background_mutex);
    return begun;
}

static void background_run(void (*run)(void *object), void *object)
{
    background_task *task = (background_task *)malloc(sizeof *task);
    if (task != NULL) {
        task->run = run;
        task->object = object;
    }
    if (task == NULL || !background_begin(task)) {
        free(task);
        run(object);
    }
}

/* From here on nothing is begun. */
static void background_end(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BACKGROUND_PATIENCE_S;
    pthread_mutex_lock(&background_mutex);
    background_is_over = 1;
    while (background_running > 0 &&
           pthread_cond_timedwait(&background_done, &background_mutex, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&background_mutex);
}

/* A child has none of the parent's threads. */
static void background_after_fork(void)
{
    pthread_mutex_init(&background_mutex, NULL);
    pthread_cond_init(&background_done, NULL);
    background_running = 0;
}

static void background_start(void)
{
    pthread_atfork(NULL, NULL, background_after_fork);
}

#endif
