#include "engine/interceptor.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ace_interceptor {
    atomic_uint references;
    atomic_bool removed;
    ace_interceptor_side side;
    char *name;
    ace_interceptor_hooks hooks;
};

struct ace_chain {
    atomic_uint references;
    size_t count;
    ace_interceptor *items[]; /* in order; one reference each */
};

static _Thread_local unsigned inside[ACE_SIDES];

bool ace_interceptor_is_inside(ace_interceptor_side side)
{
    return inside[side] > 0;
}

/* --- the chain --- */

static ace_interceptor *keep_interceptor(ace_interceptor *interceptor)
{
    atomic_fetch_add_explicit(&interceptor->references, 1, memory_order_relaxed);
    return interceptor;
}

void ace_interceptor_release(ace_interceptor *interceptor)
{
    if (interceptor == NULL ||
        atomic_fetch_sub_explicit(&interceptor->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (interceptor->hooks.destructor != NULL) {
        interceptor->hooks.destructor(interceptor->hooks.user);
    }
    free(interceptor->name);
    free(interceptor);
}

static void release_chain(ace_chain *chain)
{
    if (chain == NULL ||
        atomic_fetch_sub_explicit(&chain->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < chain->count; i++) {
        ace_interceptor_release(chain->items[i]);
    }
    free(chain);
}

static ace_chain *make_chain(size_t room)
{
    ace_chain *chain = malloc(sizeof *chain + room * sizeof(ace_interceptor *));
    if (chain != NULL) {
        atomic_init(&chain->references, 1);
        chain->count = 0;
    }
    return chain;
}

static void append(ace_chain *chain, ace_interceptor *interceptor)
{
    chain->items[chain->count++] = keep_interceptor(interceptor);
}

static ace_chain *chain_with(const ace_chain *from, ace_interceptor *added)
{
    size_t count = from == NULL ? 0 : from->count;
    ace_chain *chain = make_chain(count + 1);
    if (chain == NULL) {
        return NULL;
    }
    size_t i = 0;
    while (i < count && from->items[i]->hooks.order <= added->hooks.order) {
        append(chain, from->items[i++]);
    }
    append(chain, added);
    while (i < count) {
        append(chain, from->items[i++]);
    }
    return chain;
}

/* Puts `chain` in the place of the present one, which is returned. With the lock held. */
static ace_chain *exchange_chain(ace_interceptors *interceptors, ace_interceptor_side side,
                                 ace_chain *chain)
{
    ace_chain *before = interceptors->chains[side];
    interceptors->chains[side] = chain;
    atomic_store(&interceptors->count[side], chain == NULL ? 0 : chain->count);
    return before;
}

ace_code ace_interceptors_init(ace_interceptors *interceptors, ace_interceptor_complaint *complain,
                               void *user, ace_error **error)
{
    for (int side = 0; side < ACE_SIDES; side++) {
        atomic_init(&interceptors->count[side], 0);
        interceptors->chains[side] = NULL;
    }
    interceptors->complain = complain;
    interceptors->complain_user = user;
    return ace_mutex_init(&interceptors->mutex, error);
}

void ace_interceptors_destroy(ace_interceptors *interceptors)
{
    for (int side = 0; side < ACE_SIDES; side++) {
        release_chain(interceptors->chains[side]);
    }
    ace_mutex_destroy(&interceptors->mutex);
}

static ace_interceptor *make_interceptor(ace_interceptor_side side,
                                         const ace_interceptor_hooks *hooks)
{
    ace_interceptor *made = calloc(1, sizeof *made);
    char *name = strdup(hooks->name == NULL ? "unnamed" : hooks->name);
    if (made == NULL || name == NULL) {
        free(made);
        free(name);
        return NULL;
    }
    atomic_init(&made->references, 1);
    atomic_init(&made->removed, false);
    made->side = side;
    made->name = name;
    made->hooks = *hooks;
    made->hooks.name = name;
    return made;
}

ace_code ace_interceptors_add(ace_interceptors *interceptors, ace_interceptor_side side,
                              const ace_interceptor_hooks *hooks, ace_interceptor **added,
                              ace_error **error)
{
    ace_interceptor *made = make_interceptor(side, hooks);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_mutex_lock(&interceptors->mutex);
    ace_chain *chain = chain_with(interceptors->chains[side], made);
    ace_chain *before = chain == NULL ? NULL : exchange_chain(interceptors, side, chain);
    ace_mutex_unlock(&interceptors->mutex);
    release_chain(before);
    if (chain == NULL) {
        made->hooks.destructor = NULL; /* it stays the caller's */
        ace_interceptor_release(made);
        return ace_fail_memory(error);
    }
    *added = made;
    return ACE_OK;
}

static bool contains(const ace_chain *chain, const ace_interceptor *interceptor)
{
    for (size_t i = 0; chain != NULL && i < chain->count; i++) {
        if (chain->items[i] == interceptor) {
            return true;
        }
    }
    return false;
}

/* With the lock held; returns the chain that was replaced. */
static ace_chain *take_off(ace_interceptors *interceptors, ace_interceptor *interceptor)
{
    ace_chain *present = interceptors->chains[interceptor->side];
    if (!contains(present, interceptor)) {
        return NULL;
    }
    if (present->count == 1) {
        return exchange_chain(interceptors, interceptor->side, NULL);
    }
    ace_chain *chain = make_chain(present->count - 1);
    if (chain == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < present->count; i++) {
        if (present->items[i] != interceptor) {
            append(chain, present->items[i]);
        }
    }
    return exchange_chain(interceptors, interceptor->side, chain);
}

void ace_interceptors_remove(ace_interceptors *interceptors, ace_interceptor *interceptor)
{
    atomic_store(&interceptor->removed, true);
    ace_mutex_lock(&interceptors->mutex);
    ace_chain *before = take_off(interceptors, interceptor);
    ace_mutex_unlock(&interceptors->mutex);
    release_chain(before);
}

bool ace_interceptors_any(ace_interceptors *interceptors, ace_interceptor_side side)
{
    return atomic_load_explicit(&interceptors->count[side], memory_order_acquire) > 0;
}

static ace_chain *present_chain(ace_interceptors *interceptors, ace_interceptor_side side)
{
    ace_mutex_lock(&interceptors->mutex);
    ace_chain *chain = interceptors->chains[side];
    if (chain != NULL) {
        atomic_fetch_add_explicit(&chain->references, 1, memory_order_relaxed);
    }
    ace_mutex_unlock(&interceptors->mutex);
    return chain;
}

/* --- one message --- */

static void complain(const ace_passage *passage, const ace_interceptor *interceptor,
                     const char *hook, const char *reason)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "interceptor %s: its %s hook failed: %s", interceptor->name,
                   hook, reason == NULL ? "no reason given" : reason);
    ace_utf8_clean_line(text);
    passage->interceptors->complain(text, passage->interceptors->complain_user);
}

static char *refusal(const ace_interceptor *interceptor, const char *reason)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "interceptor %s: %s", interceptor->name,
                   reason == NULL ? "no reason given" : reason);
    ace_utf8_clean_line(text);
    return strdup(text);
}

static ace_interception begin_call(const ace_passage *passage, const ace_passenger *passenger,
                                   size_t index)
{
    inside[passenger->side]++;
    return (ace_interception){.side = passenger->side,
                              .exchange = passenger->exchange,
                              .routing_key = passenger->routing_key,
                              .kept = &passage->places[index].kept};
}

static void end_call(const ace_passenger *passenger, ace_interception *call)
{
    inside[passenger->side]--;
    free(call->reason);
}

static int run_before(ace_passage *passage, const ace_passenger *passenger, char **reason)
{
    const ace_interceptor *interceptor = passage->chain->items[passage->entered];
    if (atomic_load(&interceptor->removed)) {
        return 0;
    }
    bool *met = &passage->places[passage->entered].met;
    *met = true;
    if (interceptor->hooks.before == NULL) {
        return 0;
    }
    ace_interception call = begin_call(passage, passenger, passage->entered);
    int answer = interceptor->hooks.before(&call, passenger->subject, interceptor->hooks.user);
    if (answer != 0) {
        *met = false;
        *reason = refusal(interceptor, call.reason);
    }
    end_call(passenger, &call);
    return answer;
}

int ace_passage_enter(ace_passage *passage, ace_interceptors *interceptors,
                      const ace_passenger *passenger, char **reason)
{
    *reason = NULL;
    ace_chain *chain = present_chain(interceptors, passenger->side);
    if (chain == NULL) {
        return 0;
    }
    ace_passage_place *places = calloc(chain->count, sizeof *places);
    if (places == NULL) {
        release_chain(chain);
        return -1;
    }
    *passage = (ace_passage){.interceptors = interceptors, .chain = chain, .places = places};
    int answer = 0;
    while (passage->entered < chain->count && answer == 0) {
        answer = run_before(passage, passenger, reason);
        if (answer == 0) {
            passage->entered++;
        }
    }
    return answer;
}

static void run_failed(const ace_passage *passage, const ace_passenger *passenger, size_t index,
                       const ace_passage_end *end)
{
    const ace_interceptor *interceptor = passage->chain->items[index];
    if (interceptor->hooks.failed == NULL) {
        return;
    }
    ace_interception call = begin_call(passage, passenger, index);
    if (interceptor->hooks.failed(&call, passenger->subject, end->outcome, end->error, end->reason,
                                  interceptor->hooks.user) != 0) {
        complain(passage, interceptor, "failed", call.reason);
    }
    end_call(passenger, &call);
}

static void run_after(const ace_passage *passage, const ace_passenger *passenger, size_t index,
                      const ace_passage_end *end)
{
    const ace_interceptor *interceptor = passage->chain->items[index];
    if (interceptor->hooks.after == NULL) {
        return;
    }
    ace_interception call = begin_call(passage, passenger, index);
    if (interceptor->hooks.after(&call, passenger->subject, end->outcome,
                                 interceptor->hooks.user) != 0) {
        complain(passage, interceptor,
                 passenger->side == ACE_SIDE_PUBLISHING ? "confirmed" : "after", call.reason);
    }
    end_call(passenger, &call);
}

void ace_passage_leave(ace_passage *passage, const ace_passenger *passenger,
                       const ace_passage_end *end)
{
    while (passage->entered > 0) {
        size_t index = --passage->entered;
        bool met = passage->places[index].met;
        if (met && end->failed) {
            run_failed(passage, passenger, index, end);
        }
        if (met && end->after) {
            run_after(passage, passenger, index, end);
        }
    }
    free(passage->places);
    release_chain(passage->chain);
    *passage = (ace_passage){.chain = NULL};
}
