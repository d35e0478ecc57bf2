/*
 * A campaign: processes that publish, consume and replay through a proxy, while a plan of faults is
 * carried out. In the end every message that was confirmed was handled. `--help` says how.
 */
#include "admin.h"
#include "ledger.h"
#include "plan.h"
#include "rabbit.h"
#include "rough_proxy.h"
#include "scenes.h"
#include "worker.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NO_PROGRESS  90000 /* ms without any, after which what is missing is lost */
#define QUIET        10000 /* where the broker lost what is missing */
#define READY_WITHIN 120000
#define END_WITHIN   60000
#define BACKLOG      4000 /* messages that may be published and are not, before the next fault waits */
#define BACKLOG_WAIT 10000
#define TOLD         20 /* of what was lost, one by one */
#define FAULTS_MAX   100000
#define MESSAGES_MAX 10000000

typedef struct options {
    uint64_t seed;
    int faults, messages, json, plan;
    const char *url;
} options;

typedef struct client { /* a process */
    pid_t process;
    const char *lanes[3]; /* the first, how many, whether it replays */
} client;

enum { STEADY, VICTIM, CLIENTS };

typedef struct campaign {
    const options *wanted;
    const char *program;
    char url[256];
    char descriptor[16];
    fault_ledger *ledger;
    rough_proxy *proxy;
    fault_admin *admin;
    client clients[CLIENTS];
    int hangs;
    int broken; /* clients that ended as they should not */
} campaign;

typedef struct verdict {
    int sent, confirmed, handled, dead_lettered, lost, lost_by_broker, duplicated;
} verdict;

static void start_client(campaign *all, client *one)
{
    char *arguments[] = {(char *)(uintptr_t)all->program,
                         "--work",
                         all->descriptor,
                         all->url,
                         (char *)(uintptr_t)one->lanes[0],
                         (char *)(uintptr_t)one->lanes[1],
                         (char *)(uintptr_t)one->lanes[2],
                         NULL};
    one->process = fault_spawn(arguments);
}

static void kill_client(campaign *all, client *one)
{
    (void)kill(one->process, SIGKILL);
    (void)fault_reap(one->process, END_WITHIN);
    ledger_forget(all->ledger, one->process);
    start_client(all, one);
}

static int port_of(const char *url)
{
    const char *colon = strrchr(url, ':');
    return colon == NULL ? 5672 : fault_parse(colon, ":");
}

/* A client that ended by itself has crashed. */
static void look_at_clients(campaign *all)
{
    all->hangs += ledger_overdue(all->ledger);
    for (int i = 0; i < CLIENTS; i++) {
        client *one = &all->clients[i];
        int status = fault_reap(one->process, 0);
        if (status >= 0) {
            fprintf(stderr, "client %d ended with %d\n", i, status);
            all->broken++;
            ledger_forget(all->ledger, one->process);
            start_client(all, one);
        }
    }
}

static void nap_and_look(campaign *all, int64_t milliseconds)
{
    int64_t end = fault_now() + milliseconds;
    do {
        int64_t left = end - fault_now();
        fault_nap(left > 100 ? 100 : left > 0 ? left : 0);
        look_at_clients(all);
    } while (fault_now() < end);
}

static void await_ready(campaign *all)
{
    int64_t deadline = fault_now() + READY_WITHIN;
    while (atomic_load(&all->ledger->ready) < CLIENTS) {
        if (fault_now() > deadline) {
            fault_die("the clients do not start");
        }
        nap_and_look(all, 50);
    }
}

static void await_backlog(campaign *all)
{
    int64_t deadline = fault_now() + BACKLOG_WAIT;
    while (atomic_load(&all->ledger->allowed) - atomic_load(&all->ledger->confirmed) > BACKLOG &&
           fault_now() < deadline) {
        nap_and_look(all, 50);
    }
}

/* Who deletes a queue must know that nobody holds its messages any more. */
static void await_no_ghosts(campaign *all)
{
    int64_t deadline = fault_now() + BACKLOG_WAIT;
    while (rough_proxy_lost(all->proxy) > 0 && fault_now() < deadline) {
        nap_and_look(all, 50);
    }
}

static void carry_out(campaign *all, const fault *one)
{
    if (one->kind <= FAULT_DUMB) {
        rough_proxy_fault(all->proxy, one);
    } else if (one->kind == FAULT_CLIENT) {
        kill_client(all, &all->clients[VICTIM]);
    } else {
        if (one->kind == FAULT_DELETE) {
            await_no_ghosts(all);
        }
        admin_fault(all->admin, one);
    }
}

/* The messages are let go a share with each fault, so that there is always work under way. */
static void run_plan(campaign *all, const fault *faults)
{
    int count = all->wanted->faults;
    int messages = all->wanted->messages;
    for (int i = 0; i < count; i++) {
        atomic_store(&all->ledger->allowed, (int)((int64_t)messages * (i + 1) / (count + 1)));
        nap_and_look(all, faults[i].pause);
        await_backlog(all);
        fprintf(stderr,
                "%6.1f s, %d confirmed, %d handled: ", (double)(fault_now() % 10000000) / 1e3,
                atomic_load(&all->ledger->confirmed), atomic_load(&all->ledger->handled));
        fault_print(stderr, i + 1, &faults[i]);
        carry_out(all, &faults[i]);
    }
    atomic_store(&all->ledger->allowed, messages);
}

static bool only_excused_are_missing(const campaign *all)
{
    for (int i = 0; i < all->ledger->messages; i++) {
        if (atomic_load(&all->ledger->entries[i].accepted) == 0 && !admin_excuses(all->admin, i)) {
            return false;
        }
    }
    return true;
}

/* Until all were confirmed and handled, or nothing has happened for long. */
static void await_all(campaign *all)
{
    const fault_ledger *ledger = all->ledger;
    unsigned before = 0;
    int64_t since = fault_now();
    while (atomic_load(&ledger->confirmed) < ledger->messages ||
           atomic_load(&ledger->handled) < ledger->messages) {
        nap_and_look(all, 50);
        unsigned now = atomic_load(&ledger->progress);
        if (now != before) {
            before = now;
            since = fault_now();
        } else if (fault_now() - since > (only_excused_are_missing(all) ? QUIET : NO_PROGRESS)) {
            return;
        }
    }
}

static void end_clients(campaign *all)
{
    atomic_store(&all->ledger->stage, LEDGER_ENDING);
    for (int i = 0; i < CLIENTS; i++) {
        int status = fault_reap(all->clients[i].process, END_WITHIN);
        all->hangs += ledger_overdue(all->ledger);
        if (status == 0) {
            continue;
        }
        if (status < 0) {
            fprintf(stderr, "hang: client %d does not end\n", i);
            all->hangs++;
            (void)kill(all->clients[i].process, SIGABRT);
            (void)fault_reap(all->clients[i].process, END_WITHIN);
        } else {
            fprintf(stderr, "client %d ended with %d\n", i, status);
            all->broken++;
        }
    }
}

static void judge_one(const campaign *all, int number, verdict *result)
{
    ledger_entry *entry = &all->ledger->entries[number];
    int accepted = (int)atomic_load(&entry->accepted);
    result->sent += atomic_load(&entry->sent);
    result->confirmed += atomic_load(&entry->confirmed);
    result->handled += accepted > 0;
    result->dead_lettered += atomic_load(&entry->set_aside);
    result->duplicated += accepted > 1 ? accepted - 1 : 0;
    if (accepted > 0 || atomic_load(&entry->confirmed) == 0) {
        return;
    }
    bool excused = admin_excuses(all->admin, number);
    *(excused ? &result->lost_by_broker : &result->lost) += 1;
    if (result->lost + result->lost_by_broker > TOLD) {
        return;
    }
    fprintf(stderr, "lost%s: m-%d of %s, calls %u, attempt %u, set aside %d, last seen %.1f s\n",
            excused ? " by the broker" : "", number, fault_scene_of(number)->queue,
            atomic_load(&entry->calls), atomic_load(&entry->attempt),
            atomic_load(&entry->set_aside), (double)(atomic_load(&entry->last) % 10000000) / 1e3);
}

static verdict judge(const campaign *all)
{
    verdict result = {0};
    for (int i = 0; i < all->ledger->messages; i++) {
        judge_one(all, i, &result);
    }
    for (int i = 0; result.lost + result.lost_by_broker > 0 && i < SCENES; i++) {
        fprintf(stderr, "left in the queues of %s: %llu\n", fault_scenes[i].queue,
                (unsigned long long)admin_left(all->admin, i));
    }
    return result;
}

static void print(const campaign *all, const verdict *result)
{
    const fault_ledger *ledger = all->ledger;
    fprintf(stderr,
            "replayed %u, unknown %u, refused %u, lost by the broker %d, ids that are not ours %d, "
            "unexpected results %u, clients that ended badly %d\n",
            atomic_load(&ledger->replayed), atomic_load(&ledger->unknown),
            atomic_load(&ledger->refused), result->lost_by_broker, atomic_load(&ledger->alien),
            atomic_load(&ledger->unexpected), all->broken);
    printf(
        all->wanted->json
            ? "{\"sent\": %d, \"confirmed\": %d, \"handled\": %d, \"deadLettered\": %d, \"lost\": "
              "%d, \"duplicated\": %d, \"faults\": %d, \"hangs\": %d, \"lostByBroker\": %d}\n"
            : "%d sent, %d confirmed, %d handled, %d of them after they were dead letters, %d "
              "lost, %d handled again under their id, %d faults, %d hangs, %d lost by the "
              "broker itself\n",
        result->sent, result->confirmed, result->handled, result->dead_lettered, result->lost,
        result->duplicated, all->wanted->faults, all->hangs, result->lost_by_broker);
}

static int run_campaign(const options *wanted, const char *program, const fault *faults)
{
    campaign all = {.wanted = wanted,
                    .program = program,
                    .clients = {{.lanes = {"0", "4", "1"}}, {.lanes = {"4", "2", "0"}}}};
    int descriptor = -1;
    all.ledger = ledger_make(wanted->messages, wanted->seed, &descriptor);
    (void)snprintf(all.descriptor, sizeof all.descriptor, "%d", descriptor);
    all.proxy = rough_proxy_start(port_of(wanted->url));
    const char *host = strchr(wanted->url, '@'); /* what stands before it are user and password */
    (void)snprintf(all.url, sizeof all.url, "%.*s@127.0.0.1:%d/",
                   host != NULL ? (int)(host - wanted->url) : 18,
                   host != NULL ? wanted->url : "amqp://guest:guest", rough_proxy_port(all.proxy));
    all.admin = admin_open(wanted->url, all.ledger);
    admin_set_up(all.admin);
    for (int i = 0; i < CLIENTS; i++) {
        start_client(&all, &all.clients[i]);
    }
    await_ready(&all);
    run_plan(&all, faults);
    rough_proxy_heal(all.proxy);
    if (!admin_probe(all.admin, READY_WITHIN)) {
        fprintf(stderr, "hang: a consumer has not come back to its queue\n");
        all.hangs++;
    }
    await_all(&all);
    end_clients(&all);
    verdict result = judge(&all);
    print(&all, &result);
    admin_close(all.admin);
    rough_proxy_stop(all.proxy);
    bool sound = result.lost == 0 && all.hangs == 0 && all.broken == 0 &&
                 atomic_load(&all.ledger->alien) == 0 &&
                 atomic_load(&all.ledger->unexpected) == 0 && result.confirmed == wanted->messages;
    return sound ? 0 : 1;
}

static long number_of(const char *text, long least, long most)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "%s is not a number from %ld to %ld\n", text, least, most);
        exit(2);
    }
    return number;
}

static void read_options(int argc, char **argv, options *wanted)
{
    static const struct option known[] = {
        {"seed", required_argument, NULL, 's'},
        {"faults", required_argument, NULL, 'f'},
        {"messages", required_argument, NULL, 'm'},
        {"url", required_argument, NULL, 'u'},
        {"json", no_argument, NULL, 'j'},
        {"plan", no_argument, NULL, 'p'},
        {NULL, 0, NULL, 0},
    };
    int letter;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (letter) {
        case 's':
            wanted->seed = (uint64_t)number_of(optarg, 0, 2147483647);
            break;
        case 'f':
            wanted->faults = (int)number_of(optarg, 0, FAULTS_MAX);
            break;
        case 'm':
            wanted->messages = (int)number_of(optarg, 1, MESSAGES_MAX);
            break;
        case 'u':
            wanted->url = optarg;
            break;
        case 'j':
            wanted->json = 1;
            break;
        case 'p':
            wanted->plan = 1;
            break;
        default:
            exit(2);
        }
    }
    if (optind < argc || (wanted->url == NULL && !wanted->plan)) {
        fprintf(stderr, "wrong use; tests/fault/run --help says how\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--work") == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return fault_work(ledger_open(fault_parse(argv[2], "")), argv[3], fault_parse(argv[4], ""),
                          fault_parse(argv[5], ""), fault_parse(argv[6], ""));
    }
    options wanted = {.seed = 1, .faults = 200, .messages = 100000};
    read_options(argc, argv, &wanted);
    fault *faults = calloc((size_t)wanted.faults + 1, sizeof *faults);
    if (faults == NULL) {
        fault_die("calloc");
    }
    fault_plan(wanted.seed, wanted.faults, faults);
    int status = 0;
    for (int i = 0; wanted.plan && i < wanted.faults; i++) {
        fault_print(stdout, i + 1, &faults[i]);
    }
    if (!wanted.plan) {
        status = run_campaign(&wanted, argv[0], faults);
    }
    free(faults);
    return status;
}
