/* Interceptors that write down what is called, for the tests of both sides. */
#ifndef ACEMQ_TESTS_ABI_INTERCEPTORS_H
#define ACEMQ_TESTS_ABI_INTERCEPTORS_H

#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static acemq_connection *mq;
static char log_line[1024];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void keep_line(acemq_log_level level, const char *line, void *user)
{
    (void)level;
    (void)user;
    pthread_mutex_lock(&log_lock);
    snprintf(log_line, sizeof log_line, "%s", line);
    pthread_mutex_unlock(&log_lock);
}

static inline void begin(void)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.log_callback = keep_line;
    options.events = UINT64_C(1) << ACEMQ_EVENT_CONFIRM | UINT64_C(1)
                                                              << ACEMQ_EVENT_INTERCEPTOR_FAILED;
    mq = connect_with("memory://interceptors", &options);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
}

static inline void end(void)
{
    acemq_connection_free(mq);
}

/* What was called, in order: "a:before b:before …". */
static char calls[1024];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void note(const char *who, const char *what)
{
    pthread_mutex_lock(&calls_lock);
    size_t length = strlen(calls);
    snprintf(calls + length, sizeof calls - length, "%s%s:%s", length == 0 ? "" : " ", who, what);
    pthread_mutex_unlock(&calls_lock);
}

static inline void forget_calls(void)
{
    pthread_mutex_lock(&calls_lock);
    calls[0] = '\0';
    pthread_mutex_unlock(&calls_lock);
}

static inline bool called(const char *expected)
{
    pthread_mutex_lock(&calls_lock);
    bool same = strcmp(calls, expected) == 0;
    pthread_mutex_unlock(&calls_lock);
    return same;
}

static inline void await_calls(const char *expected)
{
    for (int i = 0; i < 1000 && !called(expected); i++) {
        sleep_ms(10);
    }
    ck_assert_str_eq(calls, expected);
}

typedef struct spy {
    const char *name;
    int answer;
    const char *reason;
    int later; /* what the hooks that come after answer */
    _Atomic(pthread_t) thread;
    _Atomic(pthread_t) later_thread;
    atomic_int registered;
    atomic_int destroyed;
} spy;

static inline int before_publish(acemq_interception *call, acemq_message *message, void *user)
{
    spy *self = user;
    self->thread = pthread_self();
    note(self->name, "before");
    ck_assert_ptr_nonnull(acemq_message_id(message));
    acemq_interception_keep(call, self);
    if (self->answer != 0) {
        acemq_interception_fail(call, self->reason);
    }
    return self->answer;
}

static inline int confirmed(acemq_interception *call, const acemq_message *message, void *user)
{
    spy *self = user;
    self->later_thread = pthread_self();
    note(self->name, "confirmed");
    ck_assert_ptr_nonnull(acemq_message_id(message));
    ck_assert_ptr_eq(acemq_interception_kept(call), self);
    acemq_interception_fail(call, "no room in the audit");
    return self->later;
}

static inline int publish_failed(acemq_interception *call, const acemq_message *message,
                                 const acemq_error *error, void *user)
{
    spy *self = user;
    (void)message;
    self->later_thread = pthread_self();
    note(self->name, acemq_error_name(error));
    ck_assert_ptr_eq(acemq_interception_kept(call), self);
    return self->later;
}

static inline void count_destroyed(void *user)
{
    atomic_fetch_add(&((spy *)user)->destroyed, 1);
}

/* A message that is on its way may meet it still: until it has passed, the spy must stay. */
static inline void await_destroyed(spy *self)
{
    for (int i = 0; i < 1000 && self->destroyed != self->registered; i++) {
        sleep_ms(10);
    }
    ck_assert_int_eq(self->destroyed, self->registered);
}

static inline void take_off(acemq_interceptor *interceptor, spy *self)
{
    acemq_interceptor_remove(interceptor);
    await_destroyed(self);
}

static inline acemq_interceptor *publishing(spy *self, int64_t order)
{
    acemq_publish_interceptor hooks = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
    acemq_interceptor *interceptor = NULL;
    hooks.name = self->name;
    hooks.order = order;
    hooks.before = before_publish;
    hooks.confirmed = confirmed;
    hooks.failed = publish_failed;
    hooks.user = self;
    hooks.destructor = count_destroyed;
    MUST(acemq_intercept_publishing(mq, &hooks, &interceptor, &error));
    atomic_fetch_add(&self->registered, 1);
    return interceptor;
}

static inline acemq_outcome before_handle(acemq_interception *call, acemq_delivery *delivery,
                                          void *user)
{
    spy *self = user;
    self->thread = pthread_self();
    note(self->name, "before");
    ck_assert_str_eq(acemq_interception_routing_key(call), "q");
    ck_assert_int_eq(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, NULL), ACEMQ_E_STATE);
    acemq_interception_keep(call, self);
    acemq_interception_fail(call, self->reason);
    return (acemq_outcome)self->answer;
}

static inline int after_handle(acemq_interception *call, const acemq_delivery *delivery,
                               int outcome, void *user)
{
    static const char *const names[] = {"put back", "after 0", "after 1", "after 2", "after 3"};
    spy *self = user;
    (void)delivery;
    self->later_thread = pthread_self();
    note(self->name, names[outcome + 1]);
    ck_assert_ptr_eq(acemq_interception_kept(call), self);
    return self->later;
}

static inline int handle_failed(acemq_interception *call, const acemq_delivery *delivery,
                                int outcome, const char *reason, void *user)
{
    spy *self = user;
    (void)call;
    (void)delivery;
    (void)outcome;
    note(self->name, reason == NULL ? "failed" : reason);
    return self->later;
}

static inline acemq_interceptor *consuming(spy *self, int64_t order)
{
    acemq_consume_interceptor hooks = ACEMQ_CONSUME_INTERCEPTOR_INIT;
    acemq_interceptor *interceptor = NULL;
    hooks.name = self->name;
    hooks.order = order;
    hooks.before = before_handle;
    hooks.after = after_handle;
    hooks.failed = handle_failed;
    hooks.user = self;
    hooks.destructor = count_destroyed;
    MUST(acemq_intercept_consuming(mq, &hooks, &interceptor, &error));
    atomic_fetch_add(&self->registered, 1);
    return interceptor;
}

typedef struct handling {
    atomic_int calls;
    acemq_outcome outcome;
} handling;

static inline acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    handling *self = user;
    note("handler", "runs");
    acemq_delivery_set_reason(delivery, "bad luck");
    atomic_fetch_add(&self->calls, 1);
    return self->outcome;
}

static inline acemq_consumer *consume(handling *self, const char *policy)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    acemq_policy *retry = NULL;
    if (policy != NULL) {
        MUST(acemq_policy_parse(policy, &retry, &error));
        options.retry = retry;
    }
    MUST(acemq_consume(mq, "q", &options, handle, self, NULL, &consumer, &error));
    acemq_policy_free(retry);
    return consumer;
}

#endif
