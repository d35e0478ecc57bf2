#include "admin.h"

#include "rabbit.h"
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_TIMEOUT (10 * ACEMQ_SECOND)
#define PATIENCE     60000 /* ms for the broker to be back */
#define BLAMES_MAX   1024
/* A quorum queue younger than this may lose confirmed content at a kill. */
#define COMING_OF_AGE 2500
/* From the last call for a message to its copy lying in its rung, at most. */
#define ON_ITS_WAY 20000
/* A classic rung hands over without a confirm: what came out of it lies in no file of its queue for
 * so long, at most. */
#define FLUSHED 3000

struct fault_admin {
    fault_ledger *ledger;
    acemq_connection *mq;
    int probe;
    int64_t declared; /* when something was, or may have been by its consumers */
    fault_blame kills[BLAMES_MAX];
    fault_blame deletions[BLAMES_MAX];
    int kill_count, deletion_count;
};

static void add(fault_blame *blames, int *count, fault_blame one)
{
    if (*count < BLAMES_MAX) {
        blames[(*count)++] = one;
    }
}

fault_admin *admin_open(const char *url, fault_ledger *ledger)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_error *error = NULL;
    fault_admin *admin = calloc(1, sizeof *admin);
    if (admin == NULL) {
        fault_die("calloc");
    }
    options.reconnect_initial = 100;
    options.reconnect_max = 500;
    options.name = "fault admin";
    admin->ledger = ledger;
    if (acemq_connect(url, &options, &admin->mq, &error) != ACEMQ_OK) {
        fprintf(stderr, "%s\n", acemq_error_message(error));
        fault_die("connecting");
    }
    return admin;
}

/* Until it works: the broker may be away. */
static void insist(fault_admin *admin, acemq_status (*act)(fault_admin *, acemq_error **))
{
    int64_t deadline = fault_now() + PATIENCE;
    acemq_error *error = NULL;
    while (act(admin, &error) != ACEMQ_OK) {
        if (fault_now() > deadline) {
            fprintf(stderr, "%s\n", acemq_error_message(error));
            fault_die("the broker is not back");
        }
        acemq_error_free(error);
        error = NULL;
        fault_nap(100);
    }
}

static acemq_status declare_probe(fault_admin *admin, acemq_error **error)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, PROBE_QUEUE, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    acemq_status status = acemq_topology_apply(admin->mq, topology, CALL_TIMEOUT, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status;
}

static acemq_status declare_all(fault_admin *admin, acemq_error **error)
{
    acemq_status status = declare_probe(admin, error);
    for (int i = 0; i < SCENES && status == ACEMQ_OK; i++) {
        status = fault_scene_declare(admin->mq, &fault_scenes[i], error);
    }
    return status;
}

static const char *derived(const char *queue, const char *suffix)
{
    static char name[256];
    (void)snprintf(name, sizeof name, "%s%s", queue, suffix);
    return name;
}

static acemq_status delete_all(fault_admin *admin, acemq_error **error)
{
    static const char *const suffixes[] = {"", ".dlq", ".parked"};
    acemq_status status = acemq_queue_delete(admin->mq, PROBE_QUEUE, CALL_TIMEOUT, NULL, error);
    for (int i = 0; i < SCENES && status == ACEMQ_OK; i++) {
        for (size_t k = 0; k < 3 && status == ACEMQ_OK; k++) {
            const char *name = derived(fault_scenes[i].queue, suffixes[k]);
            status = acemq_queue_delete(admin->mq, name, CALL_TIMEOUT, NULL, error);
        }
        if (status == ACEMQ_OK && fault_scenes[i].rung != NULL) {
            status = acemq_queue_delete(admin->mq, fault_scenes[i].rung, CALL_TIMEOUT, NULL, error);
        }
    }
    return status;
}

void admin_set_up(fault_admin *admin)
{
    insist(admin, delete_all);
    insist(admin, declare_all);
    admin->declared = fault_now();
}

/* --- what is deleted --- */

/* Whoever replays holds messages that would be gone with the queue, so he is asked to wait. */
static bool hold_replays(fault_ledger *ledger)
{
    int64_t deadline = fault_now() + 5000;
    atomic_store(&ledger->hold_replays, 1);
    while (atomic_load(&ledger->replaying) != 0) {
        if (fault_now() > deadline) {
            return false;
        }
        fault_nap(10);
    }
    return true;
}

static void delete_if_empty(fault_admin *admin, int scene_number, const char *name)
{
    int64_t before = fault_now();
    if (rabbit_try("ctl", "-q", "delete_queue", name, "--if-empty", NULL) != 0) {
        fprintf(stderr, "     %s is not empty\n", name);
        return;
    }
    fprintf(stderr, "     deleted %s\n", name);
    admin->declared = fault_now();
    /* What is on its way to a queue that goes away in good order, RabbitMQ confirms. */
    add(admin->deletions, &admin->deletion_count,
        (fault_blame){before - ON_ITS_WAY, fault_now() + 500, scene_number});
}

static void delete_something(fault_admin *admin, const fault *one)
{
    int scene_number = one->line % SCENES;
    const scene *chosen = &fault_scenes[scene_number];
    if (chosen->classic_rung && one->upward) {
        delete_if_empty(admin, scene_number, chosen->rung);
    } else if (hold_replays(admin->ledger)) {
        delete_if_empty(admin, scene_number,
                        derived(chosen->queue, one->bytes % 2 == 0 ? ".dlq" : ".parked"));
    }
    atomic_store(&admin->ledger->hold_replays, 0);
}

static acemq_status delete_probe(fault_admin *admin, acemq_error **error)
{
    return acemq_queue_delete(admin->mq, PROBE_QUEUE, CALL_TIMEOUT, NULL, error);
}

static acemq_status send_probe(fault_admin *admin, acemq_error **error)
{
    char id[32];
    acemq_message *message = acemq_message_text("probe");
    (void)snprintf(id, sizeof id, "probe-%d", admin->probe);
    acemq_message_set_id(message, id);
    acemq_status status = acemq_publish(admin->mq, PROBE_QUEUE, message, CALL_TIMEOUT, error);
    acemq_message_free(message);
    return status;
}

static void renew_source(fault_admin *admin)
{
    insist(admin, delete_probe);
    insist(admin, declare_probe);
    admin->probe++;
    insist(admin, send_probe);
}

bool admin_probe(fault_admin *admin, int64_t wait)
{
    int64_t deadline = fault_now() + wait;
    admin->probe++;
    insist(admin, send_probe);
    while (atomic_load(&admin->ledger->probe) < admin->probe) {
        if (fault_now() > deadline) {
            return false;
        }
        fault_nap(20);
    }
    return true;
}

/* --- what happens to the broker --- */

static void alarm_for(const fault *one)
{
    rabbit_alarm(1);
    fault_nap(one->lasting);
    rabbit_alarm(0);
}

static void end_and_start(fault_admin *admin, const char *how)
{
    int64_t wait = admin->declared + COMING_OF_AGE - fault_now();
    if (wait > 0) {
        fault_nap(wait);
    }
    int64_t before = fault_now();
    rabbit(how, NULL);
    add(admin->kills, &admin->kill_count, (fault_blame){before - ON_ITS_WAY, fault_now(), -1});
    rabbit("start", NULL);
    insist(admin, declare_probe);
}

void admin_fault(fault_admin *admin, const fault *one)
{
    switch (one->kind) {
    case FAULT_DELETE:
        delete_something(admin, one);
        break;
    case FAULT_SOURCE:
        renew_source(admin);
        break;
    case FAULT_ALARM:
        alarm_for(one);
        break;
    case FAULT_RESTART:
        end_and_start(admin, "stop");
        break;
    default:
        end_and_start(admin, "kill");
        break;
    }
}

/* --- judging --- */

static bool falls_into(const fault_blame *blames, int count, int scene_number, int64_t at)
{
    for (int i = 0; i < count; i++) {
        const fault_blame *one = &blames[i];
        if ((one->scene < 0 || one->scene == scene_number) && at >= one->from && at <= one->to) {
            return true;
        }
    }
    return false;
}

bool admin_excuses(const fault_admin *admin, int number)
{
    ledger_entry *entry = &admin->ledger->entries[number];
    const scene *one = fault_scene_of(number);
    int64_t at = atomic_load(&entry->last);
    bool in_its_rung = atomic_load(&entry->set_aside) == 0;
    bool from_its_rung =
        atomic_load(&entry->attempt) > 1 &&
        falls_into(admin->kills, admin->kill_count, -1, at - (ON_ITS_WAY - FLUSHED));
    if (atomic_load(&entry->calls) == 0) {
        return false;
    }
    return (one->classic_rung && (in_its_rung || from_its_rung) &&
            falls_into(admin->kills, admin->kill_count, -1, at)) ||
           falls_into(admin->deletions, admin->deletion_count, (int)(one - fault_scenes), at);
}

uint64_t admin_left(fault_admin *admin, int scene_number)
{
    static const char *const suffixes[] = {"", ".dlq", ".parked"};
    const scene *one = &fault_scenes[scene_number];
    uint64_t left = 0;
    uint64_t ready = 0;
    for (size_t i = 0; i < 3; i++) {
        if (acemq_queue_count(admin->mq, derived(one->queue, suffixes[i]), CALL_TIMEOUT, &ready,
                              NULL, NULL) == ACEMQ_OK) {
            left += ready;
        }
    }
    if (one->rung != NULL &&
        acemq_queue_count(admin->mq, one->rung, CALL_TIMEOUT, &ready, NULL, NULL) == ACEMQ_OK) {
        left += ready;
    }
    return left;
}

void admin_close(fault_admin *admin)
{
    insist(admin, delete_all);
    (void)acemq_connection_close(admin->mq, CALL_TIMEOUT, NULL);
    acemq_connection_free(admin->mq);
    free(admin);
}
