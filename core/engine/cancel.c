#include "engine/cancel.h"

#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

struct acemq_cancel {
    atomic_uint references;
    atomic_bool fired;
    ace_mutex mutex; /* of the list, and held while watchers are told */
    ace_list watches;
};

ace_cancel *ace_cancel_new(ace_error **error)
{
    ace_cancel *cancel = calloc(1, sizeof *cancel);
    if (cancel == NULL) {
        ace_fail_memory(error);
        return NULL;
    }
    if (ace_mutex_init(&cancel->mutex, error) != ACE_OK) {
        free(cancel);
        return NULL;
    }
    atomic_init(&cancel->references, 1);
    atomic_init(&cancel->fired, false);
    ace_list_init(&cancel->watches);
    return cancel;
}

ace_cancel *ace_cancel_keep(ace_cancel *cancel)
{
    if (cancel != NULL) {
        atomic_fetch_add(&cancel->references, 1);
    }
    return cancel;
}

void ace_cancel_release(ace_cancel *cancel)
{
    if (cancel == NULL || atomic_fetch_sub(&cancel->references, 1) != 1) {
        return;
    }
    ace_mutex_destroy(&cancel->mutex);
    free(cancel);
}

void ace_cancel_fire(ace_cancel *cancel)
{
    ace_mutex_lock(&cancel->mutex);
    if (!atomic_exchange(&cancel->fired, true)) {
        for (ace_link_node *node = ace_list_first(&cancel->watches); node != NULL;
             node = ace_list_next(&cancel->watches, node)) {
            ace_cancel_watch *watch = ACE_RECORD(node, ace_cancel_watch, node);
            watch->fired(watch);
        }
    }
    ace_mutex_unlock(&cancel->mutex);
}

void ace_cancel_reset(ace_cancel *cancel)
{
    ace_mutex_lock(&cancel->mutex);
    atomic_store(&cancel->fired, false);
    ace_mutex_unlock(&cancel->mutex);
}

bool ace_cancel_fired(const ace_cancel *cancel)
{
    return cancel != NULL && atomic_load(&cancel->fired);
}

void ace_cancel_watch_add(ace_cancel *cancel, ace_cancel_watch *watch)
{
    watch->node = (ace_link_node){NULL, NULL};
    if (cancel == NULL) {
        return;
    }
    ace_mutex_lock(&cancel->mutex);
    ace_list_append(&cancel->watches, &watch->node);
    if (atomic_load(&cancel->fired)) {
        watch->fired(watch);
    }
    ace_mutex_unlock(&cancel->mutex);
}

void ace_cancel_watch_remove(ace_cancel *cancel, ace_cancel_watch *watch)
{
    if (cancel == NULL) {
        return;
    }
    ace_mutex_lock(&cancel->mutex);
    if (ace_list_contains_node(&watch->node)) {
        ace_list_remove(&cancel->watches, &watch->node);
    }
    ace_mutex_unlock(&cancel->mutex);
}
