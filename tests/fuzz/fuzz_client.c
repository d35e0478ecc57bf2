/* The whole client, through the public functions, and a broker that sends anything: every call
 * ends, with a result or an error, and nothing is left. */
#include "fuzz/fuzz.h"
#include "fuzz/hostile_broker.h"
#include "fuzz/simulation.h"

#include <acemq/acemq.h>
#include <string.h>
#include <time.h>

#define CALLS_MOST 12
#define URL        "amqp://guest:guest@fuzz:5672/"

/* Bits of the input's first byte. */
#define RECONNECTS 1
#define HAS_POLICY 2
#define IS_JSON    4
#define WAITS_HERE 8
#define IS_NARROW  16 /* limits that a few small messages meet */

typedef struct program {
    acemq_connection *mq;
    acemq_consumer *consumer;
    acemq_publisher *publisher;
    acemq_group *group;
    acemq_cancel *cancel;
    uint8_t options;
    bool pushes;
    uint8_t style; /* what the handler does, besides handling */
    int handled;
    int handlers; /* whose destructor is still to come */
    int confirms; /* callbacks that are still to come */
    bool declining;
} program;

static void check(acemq_status status, acemq_error *error)
{
    if (status != ACEMQ_OK) {
        fuzz_check_error((ace_code)status, (ace_error *)error);
    } else {
        FUZZ_DEMAND(error == NULL);
    }
}

static void log_line(acemq_log_level level, const char *line, void *user)
{
    (void)level;
    (void)user;
    FUZZ_DEMAND(strpbrk(line, "\r\n") == NULL);
}

static void connect(program *program)
{
    acemq_error *error = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.name = "fuzz";
    options.reconnect_initial = (program->options & RECONNECTS) != 0 ? 100 : 0;
    options.log_level = ACEMQ_LOG_DEBUG;
    options.log_callback = log_line;
    if ((program->options & IS_NARROW) != 0) {
        options.max_body = 100;
        options.max_output = 4096;
        options.max_queued = 500;
        options.outstanding = 2;
    }
    check(acemq_cancel_new(&program->cancel, &error), error);
    options.cancel = program->cancel;
    options.events = UINT64_C(1) << ACEMQ_EVENT_CONNECTION | UINT64_C(1) << ACEMQ_EVENT_LOG;
    check(acemq_connect(URL, &options, &program->mq, &error), error);
}

/* --- handling ------------------------------------------------------------------------------- */

static void publish(program *program);

/* What a handler may ask for, and what it may not: each is answered at once. */
static void meddle(program *program)
{
    acemq_error *error = NULL;
    int finished = 0;
    switch (program->style % 8) {
    case 1:
        publish(program);
        break;
    case 2:
        check(acemq_consumer_pause(program->consumer, &error), error);
        break;
    case 3:
        check(acemq_consumer_set_prefetch(program->consumer, 1 + program->handled % 9, &error),
              error);
        break;
    case 4:
        check(acemq_consumer_close(program->consumer, &error), error);
        break;
    case 5:
        FUZZ_DEMAND(acemq_connection_close(program->mq, 100, &error) == ACEMQ_E_FROM_HANDLER);
        fuzz_check_error((ace_code)ACEMQ_E_FROM_HANDLER, (ace_error *)error);
        break;
    case 6:
        FUZZ_DEMAND(acemq_consumer_drain(program->consumer, 100, &finished, &error) ==
                    ACEMQ_E_FROM_HANDLER);
        fuzz_check_error((ace_code)ACEMQ_E_FROM_HANDLER, (ace_error *)error);
        break;
    default:
        break;
    }
}

static void look_at(acemq_delivery *delivery);

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    program *program = user;
    program->handled++;
    look_at(delivery);
    acemq_error *error = NULL;
    FUZZ_DEMAND(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error) == ACEMQ_E_STATE);
    fuzz_check_error((ace_code)ACEMQ_E_STATE, (ace_error *)error);
    if (program->consumer != NULL) { /* not while it is being opened */
        meddle(program);
    }
    return (acemq_outcome)((program->style / 8 + program->handled) % 5); /* 4: none of them */
}

static void handler_ended(void *user)
{
    program *program = user;
    FUZZ_DEMAND(program->handlers > 0);
    program->handlers--;
}

static void narrow(const program *program, acemq_consumer_options *options)
{
    if ((program->options & IS_NARROW) != 0) {
        options->prefetch = 2;
        options->prefetch_bytes = 2000;
    }
}

static void consume(program *program, uint8_t style)
{
    acemq_error *error = NULL;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_policy *policy = acemq_policy_fixed(3, 1000);
    acemq_consumer_free(program->consumer);
    program->consumer = NULL;
    program->style = style;
    program->pushes = true;
    options.retry = (program->options & HAS_POLICY) != 0 ? policy : NULL;
    options.timeout = 2000;
    narrow(program, &options);
    acemq_consumer *consumer = NULL;
    acemq_status status = acemq_consume(program->mq, "orders", &options, handle, program,
                                        handler_ended, &consumer, &error);
    program->handlers += status == ACEMQ_OK ? 1 : 0;
    program->consumer = consumer;
    check(status, error);
    acemq_policy_free(policy);
}

static void control(program *program, uint8_t choice)
{
    acemq_error *error = NULL;
    switch (choice % 8) {
    case 0:
        check(acemq_connection_pause_publishing(program->mq, &error), error);
        break;
    case 1:
        check(acemq_connection_resume_publishing(program->mq, &error), error);
        break;
    case 2:
        acemq_cancel_fire(program->cancel);
        break;
    case 3:
        acemq_cancel_reset(program->cancel);
        break;
    case 4:
        check(acemq_consumer_pause(program->consumer, &error), error);
        break;
    case 5:
        check(acemq_consumer_resume(program->consumer, &error), error);
        break;
    case 6:
        check(acemq_consumer_set_prefetch(program->consumer, 1 + choice / 8, &error), error);
        break;
    default:
        acemq_consumer_wake(program->consumer);
        break;
    }
}

static void open_group(program *program)
{
    acemq_error *error = NULL;
    acemq_group_options options = ACEMQ_GROUP_OPTIONS_INIT;
    acemq_consumer_options each = ACEMQ_CONSUMER_OPTIONS_INIT;
    each.timeout = 1000;
    narrow(program, &each);
    options.consumer = &each;
    options.drain_budget = 500;
    acemq_group_free(program->group);
    program->group = NULL;
    check(acemq_group_open(program->mq, "orders", &options, &program->group, &error), error);
}

static void use_group(program *program)
{
    acemq_error *error = NULL;
    acemq_delivery *delivery = NULL;
    check(acemq_group_scale(program->group, 1 + program->handled++ % 3, &error), error);
    error = NULL;
    acemq_status status = acemq_group_next(program->group, 500, &delivery, &error);
    check(status, error);
    if (status == ACEMQ_OK) {
        look_at(delivery);
    }
    acemq_delivery_free(delivery);
}

/* --- pulling -------------------------------------------------------------------------------- */

static void open_consumer(program *program)
{
    acemq_error *error = NULL;
    acemq_policy *policy = acemq_policy_exponential(4, 1000, 60000);
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer_free(program->consumer);
    program->consumer = NULL;
    program->pushes = false;
    if ((program->options & WAITS_HERE) != 0) {
        acemq_policy_threshold(policy, 0);
    }
    options.retry = (program->options & HAS_POLICY) != 0 ? policy : NULL;
    options.codec = (program->options & IS_JSON) != 0 ? acemq_codec_builtin("json") : NULL;
    options.timeout = 2000;
    narrow(program, &options);
    check(acemq_consumer_open(program->mq, "orders", &options, &program->consumer, &error), error);
    acemq_policy_free(policy);
}

static void publish(program *program)
{
    acemq_error *error = NULL;
    acemq_message *message = acemq_message_json("{\"id\": 7}");
    acemq_message_set_header(message, "tenant", "acme");
    check(acemq_publish(program->mq, "orders", message, 1000, &error), error);
    acemq_message_free(message);
}

static void published(acemq_status status, const acemq_error *error, void *user)
{
    program *program = user;
    FUZZ_DEMAND((status == ACEMQ_OK) == (error == NULL));
    FUZZ_DEMAND(program->confirms > 0);
    program->confirms--;
}

static void publish_async(program *program)
{
    acemq_error *error = NULL;
    acemq_message *message = acemq_message_text("hello");
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.routing_key = "orders";
    if (program->publisher == NULL) {
        check(acemq_publisher_new(program->mq, &options, &program->publisher, &error), error);
    }
    for (int i = 0; i < 3 && program->publisher != NULL; i++) {
        acemq_status status = acemq_publisher_send_async(program->publisher, NULL, message, 1000,
                                                         published, program, &error);
        program->confirms += status == ACEMQ_OK ? 1 : 0;
        check(status, error);
        error = NULL;
    }
    acemq_message_free(message);
}

static void look_at(acemq_delivery *delivery)
{
    acemq_error *error = NULL;
    acemq_bytes map;
    FUZZ_DEMAND(acemq_envelope_id(acemq_delivery_envelope(delivery)) != NULL);
    FUZZ_DEMAND(acemq_delivery_headers(delivery) != NULL);
    FUZZ_DEMAND(strcmp(acemq_delivery_queue(delivery), "orders") == 0);
    acemq_status status = acemq_delivery_pack(delivery, &map, &error);
    check(status, error);
}

static void take(program *program, uint8_t choice)
{
    acemq_error *error = NULL;
    acemq_delivery *delivery = NULL;
    if (program->consumer == NULL) {
        return;
    }
    if (program->pushes) { /* time for whatever is delivered */
        (void)nanosleep(&(struct timespec){.tv_sec = 1 + choice % 4}, NULL);
        return;
    }
    acemq_status status = acemq_consumer_next(program->consumer, 500, &delivery, &error);
    check(status, error);
    if (status != ACEMQ_OK) {
        return;
    }
    look_at(delivery);
    error = NULL;
    switch (choice % 6) {
    case 4:
        check(acemq_delivery_put_back(delivery, &error), error);
        break;
    case 5:
        break; /* freeing puts it back */
    default:
        check(acemq_delivery_settle(delivery, (acemq_outcome)(choice % 6), "because", &error),
              error);
        break;
    }
    acemq_delivery_free(delivery);
}

static bool decline(program *program)
{
    program->declining = !program->declining;
    return program->declining;
}

static int filter(const acemq_delivery *delivery, void *user)
{
    FUZZ_DEMAND(acemq_delivery_all_headers(delivery) != NULL);
    (void)acemq_delivery_property(delivery, ACEMQ_PROPERTY_MESSAGE_ID);
    return !decline(user);
}

static void count_dead_letters(program *program)
{
    acemq_error *error = NULL;
    uint64_t pending = 0;
    check(acemq_replay_pending(program->mq, "orders", ACEMQ_DEAD_LETTERS, 500, &pending, &error),
          error);
}

static void replay(program *program)
{
    acemq_error *error = NULL;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    options.max = 2;
    options.timeout = 500;
    options.filter = filter;
    options.filter_user = program;
    check(acemq_replay(program->mq, "orders", &options, &result, &error), error);
}

static void browse(program *program)
{
    acemq_error *error = NULL;
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    options.timeout = 500;
    acemq_status status = acemq_browser_open(program->mq, "orders", &options, &browser, &error);
    check(status, error);
    for (int left = 3; status == ACEMQ_OK && left > 0; left--) {
        error = NULL;
        status = acemq_browser_next(browser, &delivery, &error);
        check(status, error);
        if (status == ACEMQ_OK && delivery != NULL && left == 2) {
            error = NULL;
            check(acemq_browser_remove(browser, &error), error);
        }
    }
    acemq_browser_free(browser);
}

static void apply(program *program, bool dry)
{
    acemq_error *error = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_bind(topology, "amq.topic", "orders", "order.*");
    acemq_topology_partitioned(topology, "payments", 2);
    check(dry ? acemq_topology_dry_run(program->mq, topology, 500, &plan, &error)
              : acemq_topology_apply(program->mq, topology, 500, &plan, &error),
          error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

static void take_events(program *program)
{
    acemq_event *event = NULL;
    acemq_error *error = NULL;
    check(acemq_connection_next_event(program->mq, 10, &event, &error), error);
    acemq_event_free(event);
    acemq_error *reason = NULL;
    (void)acemq_connection_get_state(program->mq, &reason);
    acemq_error_free(reason);
}

static void call(program *program, uint8_t choice)
{
    switch (choice % 8) {
    case 0:
        if (choice < 64) {
            open_consumer(program);
        } else if (choice < 192) {
            consume(program, choice / 8);
        } else {
            (choice < 224 ? open_group : use_group)(program);
        }
        break;
    case 1:
        publish(program);
        break;
    case 2:
        publish_async(program);
        break;
    case 3:
        (choice / 8 % 2 == 0 ? replay : count_dead_letters)(program);
        break;
    case 4:
        browse(program);
        break;
    case 5:
        apply(program, choice / 8 % 2 != 0);
        break;
    case 6:
        if (choice < 128) {
            take_events(program);
        } else {
            control(program, choice / 8);
        }
        break;
    default:
        take(program, choice / 8);
        break;
    }
}

static void end(program *program, uint8_t choice)
{
    acemq_error *error = NULL;
    int finished = 0;
    if (program->consumer != NULL && (choice & 1) != 0) {
        check(acemq_consumer_drain(program->consumer, 500, &finished, &error), error);
        error = NULL;
    }
    acemq_publisher_free(program->publisher);
    acemq_group_free(program->group);
    if ((choice & 2) != 0) {
        check(acemq_connection_close(program->mq, 200, &error), error);
    }
    if ((choice & 4) != 0) {
        acemq_connection_free(program->mq);
        acemq_consumer_free(program->consumer);
    } else {
        acemq_consumer_free(program->consumer);
        acemq_connection_free(program->mq);
    }
    FUZZ_DEMAND(program->confirms == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    program program = {.options = fuzz_take_byte(&input)};
    hostile_broker broker = {.input = &input};
    uint8_t ending = fuzz_take_byte(&input);
    broker.trust[0] = fuzz_take_byte(&input);
    broker.trust[1] = fuzz_take_byte(&input);
    ace_bytes calls = fuzz_take_bytes(&input, fuzz_take_byte(&input) % (CALLS_MOST + 1));
    const simulation_broker simulated = {hostile_broker_turn, hostile_broker_accept, &broker};
    simulation_begin(&simulated);
    connect(&program);
    for (size_t i = 0; i < calls.length && program.mq != NULL; i++) {
        call(&program, calls.data[i]);
    }
    if (program.mq != NULL) {
        end(&program, ending);
    }
    acemq_cancel_free(program.cancel);
    simulation_end();
    FUZZ_DEMAND(program.handlers == 0);
    hostile_broker_free(&broker);
    return 0;
}
