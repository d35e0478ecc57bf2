#include "worker.h"

#include "scenes.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLISH_TIMEOUT (5 * ACEMQ_SECOND)
#define OPEN_TIMEOUT    (10 * ACEMQ_SECOND)
#define REPLAY_TIMEOUT  (5 * ACEMQ_SECOND)
/* What a loaded machine may take beyond the time that a call was given. */
#define GRACE  15000
#define WINDOW SCENE_RUN

typedef struct worker {
    fault_ledger *ledger;
    acemq_connection *mq;
    const char *url;
} worker;

typedef struct lane {
    worker *all;
    int number;
    int slot;
    acemq_publisher *publisher;
    pthread_t thread;
} lane;

static bool is_ending(const fault_ledger *ledger)
{
    return atomic_load(&ledger->stage) == LEDGER_ENDING;
}

/* --- publishing: again, under the same id, until it is confirmed --- */

static void note(fault_ledger *ledger, int number, acemq_status status)
{
    switch (status) {
    case ACEMQ_OK:
        ledger_confirmed(ledger, number);
        break;
    case ACEMQ_E_UNKNOWN_OUTCOME:
        atomic_fetch_add(&ledger->unknown, 1);
        break;
    case ACEMQ_E_REFUSED:
        atomic_fetch_add(&ledger->refused, 1);
        break;
    case ACEMQ_E_NACKED:     /* a queue that is being deleted or whose node goes down */
    case ACEMQ_E_UNROUTABLE: /* and one that is not made again yet */
        break;
    default:
        fprintf(stderr, "a publish ended with %s\n", acemq_status_name(status));
        atomic_fetch_add(&ledger->unexpected, 1);
        break;
    }
}

static void send_batch(lane *self, const char *queue, const int *numbers,
                       acemq_message *const *messages, int count)
{
    acemq_status statuses[WINDOW];
    ledger_begin(self->all->ledger, self->slot, "a batch", PUBLISH_TIMEOUT + GRACE);
    (void)acemq_publisher_send_batch(self->publisher, queue, (const acemq_message *const *)messages,
                                     (size_t)count, PUBLISH_TIMEOUT, statuses, NULL, NULL);
    ledger_end(self->all->ledger, self->slot);
    for (int i = 0; i < count; i++) {
        note(self->all->ledger, numbers[i], statuses[i]);
    }
}

static void send_singly(lane *self, const char *queue, const int *numbers,
                        acemq_message *const *messages, int count)
{
    for (int i = 0; i < count; i++) {
        ledger_begin(self->all->ledger, self->slot, "a publish", PUBLISH_TIMEOUT + GRACE);
        acemq_status status =
            acemq_publish(self->all->mq, queue, messages[i], PUBLISH_TIMEOUT, NULL);
        ledger_end(self->all->ledger, self->slot);
        note(self->all->ledger, numbers[i], status);
    }
}

static void send_with_receipts(lane *self, const char *queue, const int *numbers,
                               acemq_message *const *messages, int count)
{
    acemq_receipt *receipts[WINDOW] = {NULL};
    ledger_begin(self->all->ledger, self->slot, "receipts", 3 * PUBLISH_TIMEOUT + GRACE);
    for (int i = 0; i < count; i++) {
        acemq_status status = acemq_publisher_begin(self->publisher, queue, messages[i],
                                                    PUBLISH_TIMEOUT, &receipts[i], NULL);
        if (status != ACEMQ_OK) {
            receipts[i] = NULL;
            note(self->all->ledger, numbers[i], status);
        }
    }
    for (int i = 0; i < count; i++) {
        if (receipts[i] != NULL) {
            note(self->all->ledger, numbers[i],
                 acemq_receipt_wait(receipts[i], 2 * PUBLISH_TIMEOUT, NULL));
            acemq_receipt_free(receipts[i]);
        }
    }
    ledger_end(self->all->ledger, self->slot);
}

static void send(lane *self, const char *queue, const int *numbers, int count)
{
    acemq_message *messages[WINDOW];
    for (int i = 0; i < count; i++) {
        messages[i] = fault_message(self->all->ledger, numbers[i]);
        if (messages[i] == NULL) {
            fault_die("a message");
        }
        atomic_store(&self->all->ledger->entries[numbers[i]].sent, 1);
    }
    switch (self->number % 3) {
    case 0:
        send_batch(self, queue, numbers, messages, count);
        break;
    case 1:
        send_singly(self, queue, numbers, messages, count);
        break;
    default:
        send_with_receipts(self, queue, numbers, messages, count);
        break;
    }
    for (int i = 0; i < count; i++) {
        acemq_message_free(messages[i]);
    }
}

/* The unconfirmed ones of a run, of those that may be published. Answers how many; *all is false
 * when the run is not wholly allowed yet. */
static int collect(const lane *self, int run, int numbers[WINDOW], bool *all)
{
    const fault_ledger *ledger = self->all->ledger;
    int count = 0;
    *all = true;
    for (int i = 0; i < SCENE_RUN; i++) {
        int number = (run * LANES + self->number) * SCENE_RUN + i;
        if (number >= ledger->messages) {
            break;
        }
        if (number >= atomic_load(&ledger->allowed)) {
            *all = false;
            break;
        }
        if (atomic_load(&ledger->entries[number].confirmed) == 0) {
            numbers[count++] = number;
        }
    }
    return count;
}

static void *run_lane(void *user)
{
    lane *self = user;
    fault_ledger *ledger = self->all->ledger;
    int runs = ledger->messages / (SCENE_RUN * LANES) + 1;
    for (int run = 0; run < runs && !is_ending(ledger);) {
        int numbers[WINDOW];
        bool all = false;
        int count = collect(self, run, numbers, &all);
        if (count > 0) {
            send(self, fault_scene_of(numbers[0])->queue, numbers, count);
        } else if (all) {
            run++;
        }
        if (count == 0 && !all) {
            fault_nap(10);
        }
    }
    return NULL;
}

/* --- consuming and replaying --- */

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    return fault_handle(user, delivery);
}

static acemq_outcome handle_probe(acemq_delivery *delivery, void *user)
{
    fault_ledger *ledger = user;
    int number = fault_parse(acemq_envelope_id(acemq_delivery_envelope(delivery)), "probe-");
    if (number > atomic_load(&ledger->probe)) {
        atomic_store(&ledger->probe, number);
    }
    return ACEMQ_ACCEPTED;
}

/* A broker that is away, or a line that is cut, is tried again. */
static acemq_consumer *open_consumer(worker *self, int slot, const char *queue, const char *policy,
                                     acemq_handler handler)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_policy *retry = NULL;
    acemq_consumer *consumer = NULL;
    if (acemq_policy_parse(policy, &retry, NULL) != ACEMQ_OK) {
        fault_die(policy);
    }
    options.retry = retry;
    options.prefetch = 20;
    options.timeout = OPEN_TIMEOUT;
    while (consumer == NULL && !is_ending(self->ledger)) {
        acemq_error *error = NULL;
        ledger_begin(self->ledger, slot, "opening a consumer", OPEN_TIMEOUT + GRACE);
        acemq_status status = acemq_consume(self->mq, queue, &options, handler, self->ledger, NULL,
                                            &consumer, &error);
        ledger_end(self->ledger, slot);
        if (status != ACEMQ_OK) {
            consumer = NULL;
            fprintf(stderr, "consuming %s: %s\n", queue, acemq_error_message(error));
            acemq_error_free(error);
            fault_nap(200);
        }
    }
    acemq_policy_free(retry);
    return consumer;
}

static acemq_connection *connect_at_last(fault_ledger *ledger, int slot, const char *url)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_connection *mq = NULL;
    options.timeout = 3 * ACEMQ_SECOND;
    options.call_timeout = 6 * ACEMQ_SECOND;
    options.heartbeat = 2 * ACEMQ_SECOND;
    options.reconnect_initial = 50;
    options.reconnect_max = ACEMQ_SECOND;
    while (mq == NULL) {
        ledger_begin(ledger, slot, "connecting", options.timeout + GRACE);
        acemq_status status = acemq_connect(url, &options, &mq, NULL);
        ledger_end(ledger, slot);
        if (status != ACEMQ_OK) {
            mq = NULL;
            fault_nap(100);
        }
    }
    return mq;
}

static void replay(worker *self, int slot, const char *queue, acemq_failure_queue source)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    while (atomic_load(&self->ledger->hold_replays) != 0 && !is_ending(self->ledger)) {
        fault_nap(10);
    }
    atomic_store(&self->ledger->replaying, 1);
    if (atomic_load(&self->ledger->hold_replays) != 0) {
        atomic_store(&self->ledger->replaying, 0);
        return;
    }
    options.source = (int32_t)source;
    options.timeout = REPLAY_TIMEOUT;
    options.max = 300;
    ledger_begin(self->ledger, slot, "a replay", 20 * REPLAY_TIMEOUT + GRACE);
    (void)acemq_replay(self->mq, queue, &options, &result, NULL);
    ledger_end(self->ledger, slot);
    atomic_store(&self->ledger->replaying, 0);
    atomic_fetch_add(&self->ledger->replayed, (unsigned)result.replayed);
}

static void *run_replays(void *user)
{
    worker *self = user;
    int slot = ledger_slot(self->ledger, getpid());
    while (!is_ending(self->ledger)) {
        for (int i = 0; i < SCENES; i++) {
            replay(self, slot, fault_scenes[i].queue, ACEMQ_DEAD_LETTERS);
            replay(self, slot, fault_scenes[i].queue, ACEMQ_PARKED_LETTERS);
        }
        fault_nap(300);
    }
    return NULL;
}

/* --- the process --- */

static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return count;
}

/* `own`: those that were there before the library was used, a sanitizer's among them. */
static bool is_alone(int own)
{
    int64_t deadline = fault_now() + 10000;
    while (threads() > own) {
        if (fault_now() > deadline) {
            fprintf(stderr, "process %d has %d threads left\n", getpid(), threads() - own);
            return false;
        }
        fault_nap(20);
    }
    return true;
}

static void close_all(worker *self, int slot, acemq_consumer *const consumers[SCENES + 1])
{
    for (int i = 0; i <= SCENES; i++) {
        ledger_begin(self->ledger, slot, "draining", OPEN_TIMEOUT + GRACE);
        if (consumers[i] != NULL) {
            (void)acemq_consumer_drain(consumers[i], OPEN_TIMEOUT, NULL, NULL);
            acemq_consumer_free(consumers[i]);
        }
        ledger_end(self->ledger, slot);
    }
    ledger_begin(self->ledger, slot, "closing", OPEN_TIMEOUT + GRACE);
    (void)acemq_connection_close(self->mq, OPEN_TIMEOUT, NULL);
    acemq_connection_free(self->mq);
    ledger_end(self->ledger, slot);
}

static void start(pthread_t *thread, void *(*run)(void *), void *user)
{
    if (pthread_create(thread, NULL, run, user) != 0) {
        fault_die("pthread_create");
    }
}

int fault_work(fault_ledger *ledger, const char *url, int first_lane, int count, int replays)
{
    int own = threads();
    int slot = ledger_slot(ledger, getpid());
    worker self = {.ledger = ledger, .url = url, .mq = connect_at_last(ledger, slot, url)};
    acemq_consumer *consumers[SCENES + 1] = {NULL};
    lane lanes[LANES];
    pthread_t replayer;
    for (int i = 0; i < SCENES; i++) {
        const scene *one = &fault_scenes[i];
        consumers[i] = open_consumer(&self, slot, one->queue, one->policy, handle);
    }
    consumers[SCENES] = open_consumer(&self, slot, PROBE_QUEUE, "none", handle_probe);
    atomic_fetch_add(&ledger->ready, 1);
    for (int i = 0; i < count; i++) {
        lanes[i] = (lane){.all = &self, .number = first_lane + i};
        lanes[i].slot = ledger_slot(ledger, getpid());
        if (acemq_publisher_new(self.mq, NULL, &lanes[i].publisher, NULL) != ACEMQ_OK) {
            fault_die("a publisher");
        }
        start(&lanes[i].thread, run_lane, &lanes[i]);
    }
    if (replays) {
        start(&replayer, run_replays, &self);
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(lanes[i].thread, NULL);
        acemq_publisher_free(lanes[i].publisher);
    }
    while (!is_ending(ledger)) {
        fault_nap(50);
    }
    if (replays) {
        (void)pthread_join(replayer, NULL);
    }
    close_all(&self, slot, consumers);
    return is_alone(own) ? 0 : 3;
}
