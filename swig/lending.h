/*
 * Who needs what. A proxy of a scripting language goes away whenever its collector likes, and so
 * may one whose object something else still uses: the policy in an options struct, the delivery
 * whose envelope was asked for. What is used is held here, and freed when both its own proxy and
 * everything that uses it are gone.
 */
#ifndef ACEMQ_SWIG_LENDING_H
#define ACEMQ_SWIG_LENDING_H

#include <acemq/acemq.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*lending_free_function)(void *object);

typedef struct lending_entry {
    struct lending_entry *next;
    const void *object;
    /* what has to outlive it; NULL: nothing */
    const void *owner;
    /* it lies in its owner, and is not freed itself */
    int is_part;
    size_t users;
    /* what frees it once nobody uses it; NULL while its proxy lives */
    lending_free_function free_object;
} lending_entry;

enum { LENDING_BUCKETS = 1024 };

static lending_entry *lending_table[LENDING_BUCKETS];
static pthread_mutex_t lending_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lending_before_fork(void)
{
    pthread_mutex_lock(&lending_mutex);
}

static void lending_after_fork(void)
{
    pthread_mutex_unlock(&lending_mutex);
}

/* Another thread may be in here when a process forks. */
static void lending_start(void)
{
    pthread_atfork(lending_before_fork, lending_after_fork, lending_after_fork);
}

static lending_entry **lending_find(const void *object)
{
    lending_entry **place = &lending_table[((size_t)object >> 4) % LENDING_BUCKETS];
    while (*place != NULL && (*place)->object != object) {
        place = &(*place)->next;
    }
    return place;
}

/* The object's entry, made when there is none; NULL when memory is gone. */
static lending_entry *lending_know(const void *object)
{
    lending_entry **place = lending_find(object);
    if (*place == NULL) {
        *place = (lending_entry *)calloc(1, sizeof **place);
        if (*place != NULL) {
            (*place)->object = object;
        }
    }
    return *place;
}

/* Takes the entry out when nothing needs it any more, and answers what it held. */
static lending_entry lending_forget(const void *object)
{
    lending_entry gone = {NULL, NULL, NULL, 0, 0, NULL};
    lending_entry **place = lending_find(object);
    lending_entry *entry = *place;
    int is_over = entry != NULL && entry->users == 0 &&
                  (entry->is_part || entry->free_object != NULL || entry->owner == NULL);
    if (is_over) {
        gone = *entry;
        *place = entry->next;
        free(entry);
    }
    return gone;
}

static int lending_hold(const void *object)
{
    pthread_mutex_lock(&lending_mutex);
    lending_entry *entry = object == NULL ? NULL : lending_know(object);
    if (entry != NULL) {
        entry->users++;
    }
    pthread_mutex_unlock(&lending_mutex);
    return object == NULL || entry != NULL;
}

/* One user less. The last one frees what has no proxy any more, and what that had needed. */
static void lending_release(const void *object)
{
    while (object != NULL) {
        pthread_mutex_lock(&lending_mutex);
        lending_entry *entry = *lending_find(object);
        lending_entry gone = {NULL, NULL, NULL, 0, 0, NULL};
        if (entry != NULL) {
            entry->users--;
            gone = lending_forget(object);
        }
        pthread_mutex_unlock(&lending_mutex);
        if (gone.free_object != NULL) {
            gone.free_object((void *)object);
        }
        object = gone.owner;
    }
}

/* What has to outlive a handle as long as that has a proxy: a consumer's connection. */
static void lending_attach(const void *handle, const void *owner)
{
    if (handle == NULL || owner == NULL || !lending_hold(owner)) {
        return;
    }
    pthread_mutex_lock(&lending_mutex);
    lending_entry *entry = lending_know(handle);
    if (entry != NULL) {
        entry->owner = owner;
        owner = NULL;
    }
    pthread_mutex_unlock(&lending_mutex);
    lending_release(owner);
}

/* A part that is handed out keeps its owner, or the owner's own; its proxy gives it back with
 * lending_free(). NULL when memory is gone. */
static const void *lending_lend(const void *part, const void *owner)
{
    if (part == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&lending_mutex);
    const lending_entry *entry = *lending_find(owner);
    if (entry != NULL && entry->is_part) {
        owner = entry->owner;
    }
    pthread_mutex_unlock(&lending_mutex);
    if (!lending_hold(owner)) {
        return NULL;
    }
    pthread_mutex_lock(&lending_mutex);
    lending_entry *lent = lending_know(part);
    if (lent != NULL) {
        lent->owner = owner;
        lent->is_part = 1;
        lent->users++;
    }
    pthread_mutex_unlock(&lending_mutex);
    if (lent == NULL) {
        lending_release(owner);
        return NULL;
    }
    return part;
}

/* What the end of a proxy means: a part goes back to its owner; what is held waits for its users;
 * all else is freed. */
static void lending_free(void *object, lending_free_function free_object)
{
    if (object == NULL) {
        return;
    }
    pthread_mutex_lock(&lending_mutex);
    lending_entry *entry = *lending_find(object);
    const void *owner = NULL;
    if (entry != NULL && entry->is_part) {
        owner = entry->owner;
        entry->users--;
        lending_forget(object);
        free_object = NULL;
    } else if (entry != NULL) {
        entry->free_object = free_object;
        lending_entry gone = lending_forget(object);
        free_object = gone.free_object;
        owner = gone.owner;
    }
    pthread_mutex_unlock(&lending_mutex);
    if (free_object != NULL) {
        free_object(object);
    }
    lending_release(owner);
}

/* How many objects are held or handed out: for tests. */
static size_t lending_count(void)
{
    size_t count = 0;
    pthread_mutex_lock(&lending_mutex);
    for (size_t bucket = 0; bucket < LENDING_BUCKETS; bucket++) {
        for (lending_entry *entry = lending_table[bucket]; entry != NULL; entry = entry->next) {
            count++;
        }
    }
    pthread_mutex_unlock(&lending_mutex);
    return count;
}

/* A member of an options struct that points to a handle. */
static const void *lending_replace(const void *before, const void *now)
{
    if (!lending_hold(now)) {
        now = NULL;
    }
    lending_release(before);
    return now;
}

/* A member of an options struct that is a text. */
static const char *lending_replace_text(const char *before, const char *now)
{
    char *copy = now == NULL ? NULL : strdup(now);
    free((void *)before);
    return copy;
}

static void lending_free_table(void *table)
{
    acemq_table_free((acemq_table *)table);
}

/* Values go with their table's next change: what is handed out lies in a table of its own. */
static const acemq_value *lending_value(const acemq_table *table, const acemq_value *value)
{
    acemq_table *own = NULL;
    size_t index = 0;
    while (value != NULL && index < acemq_table_count(table) &&
           acemq_table_at(table, index) != value) {
        index++;
    }
    if (value == NULL || acemq_table_copy(table, &own, NULL) != ACEMQ_OK) {
        return NULL;
    }
    const void *copy = lending_lend(acemq_table_at(own, index), own);
    lending_free(own, lending_free_table);
    return (const acemq_value *)copy;
}

static const acemq_table *lending_table_copy(const acemq_table *table)
{
    acemq_table *copy = NULL;
    if (table != NULL) {
        acemq_table_copy(table, &copy, NULL);
    }
    return copy;
}

/* The delivery that a filter is asked about on this thread: it is the library's again afterwards.
 */
static __thread const acemq_delivery *lending_guest;

static const acemq_delivery *lending_ask_about(const acemq_delivery *delivery)
{
    const acemq_delivery *before = lending_guest;
    lending_guest = delivery;
    return before;
}

/* The envelope lies in its delivery; that of a guest is read once more, since nothing can keep a
 * guest. */
static const acemq_envelope *lending_envelope(const acemq_delivery *delivery,
                                              const acemq_envelope *envelope)
{
    if (delivery == NULL || delivery != lending_guest) {
        return (const acemq_envelope *)lending_lend(envelope, delivery);
    }
    acemq_envelope *own = NULL;
    acemq_envelope_read(acemq_delivery_all_headers(delivery), acemq_delivery_routing_key(delivery),
                        acemq_delivery_property(delivery, ACEMQ_PROPERTY_MESSAGE_ID), &own, NULL);
    return own;
}

/* --- structs whose texts lie in a list, or in what was read --- */

/* Most begin with their size, which the call wants to know. */
static void lending_size(void *filled, size_t size)
{
    if (size > 0) {
        *(size_t *)filled = size;
    }
}

static acemq_bytes lending_bytes_copy(acemq_bytes bytes)
{
    acemq_bytes copy = {malloc(bytes.length + 1), bytes.length};
    if (copy.data == NULL) {
        copy.length = 0;
    } else if (bytes.length > 0) {
        memcpy((void *)copy.data, bytes.data, bytes.length);
    }
    return copy;
}

static void lending_own_row(acemq_outbox_row *row)
{
    row->id = lending_replace_text(NULL, row->id);
    row->exchange = lending_replace_text(NULL, row->exchange);
    row->routing_key = lending_replace_text(NULL, row->routing_key);
    row->content_type = lending_replace_text(NULL, row->content_type);
    row->headers = lending_replace_text(NULL, row->headers);
    row->last_error = lending_replace_text(NULL, row->last_error);
    row->body = lending_bytes_copy(row->body);
}

static void lending_own_view(acemq_claim_view *view)
{
    view->key = lending_replace_text(NULL, view->key);
    view->token = lending_replace_text(NULL, view->token);
}

static void lending_own_frame(acemq_encrypted_frame *frame)
{
    frame->key_id = lending_bytes_copy(frame->key_id);
    frame->authenticated = lending_bytes_copy(frame->authenticated);
    frame->nonce = lending_bytes_copy(frame->nonce);
    frame->ciphertext = lending_bytes_copy(frame->ciphertext);
    frame->tag = lending_bytes_copy(frame->tag);
}

#endif
