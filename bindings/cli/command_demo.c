#include "command.h"
#include "connect.h"
#include "demo.h"
#include "output.h"
#include "signals.h"

#include <acemq/queue.h>
#include <acemq/topology.h>

#include <stdlib.h>
#include <string.h>

#define MEMORY_URL    "memory://demo"
#define DRAIN_TIMEOUT (5 * ACEMQ_SECOND)

/* The first wait is held in the consumer, the second is long enough for the broker. */
#define POLICY      "exponential(3, 2s, 4s).threshold(4s)"
#define FAST_POLICY "exponential(3, 400ms, 800ms).threshold(800ms)"

static struct {
    bool fast;
} settings;

/* A broker that others use has names of our own, which nobody else has. */
static acemq_status name_queues(cli_demo *demo, bool is_ours_alone, acemq_error **error)
{
    char id[ACEMQ_ID_SIZE];
    acemq_new_id(id);
    snprintf(demo->queue, sizeof demo->queue, "%s%.8s", is_ours_alone ? "orders" : "acemq.demo.",
             is_ours_alone ? "" : id);
    demo->rung_delay = acemq_policy_rung_delay(demo->policy, 0);
    acemq_status status = acemq_dead_letter_queue(demo->queue, demo->dead_letters, error);
    if (status == ACEMQ_OK) {
        status = acemq_parked_queue(demo->queue, demo->parked, error);
    }
    if (status == ACEMQ_OK) {
        status =
            acemq_policy_rung_name(demo->policy, demo->queue, demo->rung_delay, demo->rung, error);
    }
    return status;
}

static acemq_status declare(cli_demo *demo, acemq_error **error)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, demo->queue, ACEMQ_QUEUE_QUORUM, 1, demo->policy, NULL);
    acemq_status status = acemq_topology_apply(demo->mq, topology, CLI_CALL_TIMEOUT, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status;
}

static acemq_status start(cli_demo *demo, acemq_error **error)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = demo->policy;
    options.codec = acemq_codec_builtin("json");
    acemq_status status = declare(demo, error);
    if (status == ACEMQ_OK) {
        status = acemq_consume(demo->mq, demo->queue, &options, cli_demo_handle, demo, NULL,
                               &demo->consumer, error);
    }
    return status;
}

/* Nothing of the demo stays in the broker; its two exchanges are everybody's. */
static void clean_up(cli_demo *demo)
{
    acemq_cancel_reset(cli_cancel());
    if (demo->consumer != NULL) {
        (void)acemq_consumer_drain(demo->consumer, DRAIN_TIMEOUT, NULL, NULL);
        acemq_consumer_free(demo->consumer);
    }
    const char *const queues[] = {demo->queue, demo->rung, demo->dead_letters, demo->parked};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        acemq_error *error = NULL;
        if (acemq_queue_delete(demo->mq, queues[i], CLI_CALL_TIMEOUT, NULL, &error) != ACEMQ_OK) {
            cli_fail_at(queues[i], error);
        }
    }
}

static int show(cli_demo *demo, bool is_ours_alone)
{
    acemq_error *error = NULL;
    if (name_queues(demo, is_ours_alone, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    int status = CLI_FAILED;
    if (start(demo, &error) != ACEMQ_OK) {
        cli_fail(error);
    } else if (cli_demo_tell(demo)) {
        status = CLI_DONE;
    }
    clean_up(demo);
    return status;
}

static int connect_and_show(const cli_call *call, cli_demo *demo, const char *url)
{
    acemq_error *error = NULL;
    if (cli_connect_to(call, url, CLI_CONNECT_TIMEOUT, &demo->mq, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    int status = show(demo, strcmp(url, MEMORY_URL) == 0);
    cli_disconnect(demo->mq);
    return status;
}

static int run(const cli_call *call)
{
    acemq_error *error = NULL;
    cli_demo demo = {.json = call->json};
    bool is_given = call->url != NULL || call->url_file != NULL;
    char *url = is_given ? cli_url(call) : strdup(MEMORY_URL);
    if (url == NULL) {
        return is_given ? CLI_FAILED : cli_fail(NULL);
    }
    int status = CLI_FAILED;
    if (acemq_policy_parse(settings.fast ? FAST_POLICY : POLICY, &demo.policy, &error) !=
        ACEMQ_OK) {
        cli_fail(error);
    } else if (pthread_mutex_init(&demo.mutex, NULL) != 0 ||
               pthread_cond_init(&demo.called, NULL) != 0) {
        cli_fail_system("the demo cannot be prepared");
    } else if (cli_signals_take()) {
        status = connect_and_show(call, &demo, url);
        pthread_cond_destroy(&demo.called);
        pthread_mutex_destroy(&demo.mutex);
    }
    acemq_policy_free(demo.policy);
    free(url);
    return status;
}

static const cli_option options[] = {
    {"--fast", NULL, "with waits of moments instead of seconds", CLI_FLAG,
     .target = &settings.fast},
    {.name = NULL},
};

const cli_command cli_command_demo = {
    .name = "demo",
    .usage = "",
    .summary = "Show what becomes of orders that succeed, fail, come back, and cannot be read",
    .details =
        "Runs on a broker of its own in memory; with --url or --url-file on that one, in queues "
        "of\n"
        "its own that it removes at the end. Each line is checked: exit status 1 when anything is\n"
        "not as the story goes.\n\n"
        "With --json: {\"steps\": [{\"what\", \"queue\", \"outcome\", \"order\", \"attempt\", "
        "\"id\",\n"
        "\"meaning\", \"ok\"}], \"ok\"}; order, attempt and id are null where there is none.\n",
    .options = options,
    .run = run,
};
