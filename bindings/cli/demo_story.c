#include "demo.h"

#include "connect.h"
#include "demo_print.h"
#include "output.h"
#include "progress.h"
#include "signals.h"

#include <acemq/publisher.h>
#include <acemq/queue.h>
#include <acemq/replay.h>

#include <stdlib.h>
#include <string.h>

#define PATIENCE     15000 /* ms for a queue to hold what it should */
#define LOOK_EVERY   25
#define CLOCK_GRAIN  50 /* ms by which two clocks may differ over a wait */
#define LONGEST_TEXT 256

/* The story while it is told. */
typedef struct cli_story {
    cli_demo *demo;
    cli_json json;
    bool ok; /* so far */
} cli_story;

static void tell(cli_story *story, cli_demo_step step)
{
    cli_demo_print_step(&story->json, story->demo->json, &step);
    story->ok = story->ok && step.ok;
}

static void complain(acemq_error *error)
{
    if (error != NULL) {
        cli_fail(error);
    }
}

/* Waits until the queue holds as many; at least so many where `more` is fine. */
static bool holds(cli_demo *demo, const char *queue, uint64_t wanted, bool more)
{
    int64_t deadline = cli_now() + demo->rung_delay + PATIENCE;
    uint64_t count = 0;
    acemq_error *error = NULL;
    while (acemq_queue_count(demo->mq, queue, CLI_CALL_TIMEOUT, &count, NULL, &error) == ACEMQ_OK) {
        if (count == wanted || (more && count > wanted)) {
            return true;
        }
        if (cli_now() > deadline || cli_interrupted()) {
            return false;
        }
        cli_wait_for_interrupt(LOOK_EVERY);
    }
    complain(error);
    return false;
}

/* What lies at the head of a failure queue is this order, whole, with its id, and says why. */
static bool lies_there(cli_demo *demo, const char *queue, int order, int32_t attempt,
                       const char *why)
{
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    acemq_error *error = NULL;
    bool good = false;
    if (acemq_browser_open(demo->mq, queue, NULL, &browser, &error) == ACEMQ_OK &&
        acemq_browser_next(browser, &delivery, &error) == ACEMQ_OK && delivery != NULL) {
        const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
        const char *sent = cli_demo_body(order);
        const char *text = acemq_envelope_error(envelope);
        acemq_bytes body = acemq_delivery_body(delivery);
        good = strcmp(acemq_envelope_id(envelope), demo->ids[order - 1]) == 0 &&
               acemq_envelope_attempt(envelope) == attempt && body.length == strlen(sent) &&
               memcmp(body.data, sent, body.length) == 0 && text != NULL &&
               strncmp(text, why, strlen(why)) == 0;
    }
    complain(error);
    acemq_browser_free(browser);
    return good;
}

static bool publish_order(cli_demo *demo, int order)
{
    acemq_error *error = NULL;
    const char *body = cli_demo_body(order);
    acemq_message *message = acemq_message_new(body, strlen(body));
    acemq_new_id(demo->ids[order - 1]);
    acemq_message_set_id(message, demo->ids[order - 1]);
    acemq_message_set_type(message, "order.placed");
    acemq_message_set_content_type(message, "application/json");
    acemq_status status = acemq_publish(demo->mq, demo->queue, message, CLI_CALL_TIMEOUT, &error);
    acemq_message_free(message);
    complain(error);
    return status == ACEMQ_OK;
}

static void orders_are_placed(cli_story *story)
{
    bool good = true;
    pthread_mutex_lock(&story->demo->mutex); /* the handler looks up the ids */
    for (int order = 1; good && order <= CLI_DEMO_ORDERS; order++) {
        good = publish_order(story->demo, order);
    }
    pthread_mutex_unlock(&story->demo->mutex);
    tell(story, (cli_demo_step){.what = "four orders are published",
                                .queue = story->demo->queue,
                                .outcome = "confirmed",
                                .meaning = "The broker has each of them, and in a queue.",
                                .ok = good});
}

static void first_order_succeeds(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call call = {.order = 0};
    bool good = cli_demo_await(demo, 1, 1, ACEMQ_ACCEPTED, 1, &call) && call.body_is_unchanged &&
                call.replay_count == 0;
    tell(story, (cli_demo_step){.what = "order 1 is handled",
                                .queue = demo->queue,
                                .outcome = "acknowledged",
                                .meaning = "What goes well takes one attempt.",
                                .order = 1,
                                .attempt = 1,
                                .id = demo->ids[0],
                                .ok = good});
}

static void fourth_order_is_parked(cli_story *story)
{
    cli_demo *demo = story->demo;
    bool good = holds(demo, demo->parked, 1, false) &&
                lies_there(demo, demo->parked, 4, 1, "could not be decoded: ") &&
                cli_demo_count(demo, 4) == 0;
    tell(story,
         (cli_demo_step){.what = "order 4 arrives unreadable",
                         .queue = demo->parked,
                         .outcome = "parked",
                         .meaning = "It is cut off. No handler met it, and no retry would help.",
                         .order = 4,
                         .attempt = 1,
                         .id = demo->ids[3],
                         .ok = good});
}

static void second_order_waits_here(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call call = {.order = 0};
    bool good = cli_demo_await(demo, 2, 1, ACEMQ_FAILED, 1, &call) && call.body_is_unchanged;
    tell(story,
         (cli_demo_step){.what = "order 2 fails, and waits in the consumer",
                         .queue = demo->queue,
                         .outcome = "retried",
                         .meaning = "The payment service is down. A short wait is held here.",
                         .order = 2,
                         .attempt = 1,
                         .id = demo->ids[1],
                         .ok = good});
}

static void second_order_waits_in_the_broker(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call call = {.order = 0};
    bool good =
        cli_demo_await(demo, 2, 2, ACEMQ_FAILED, 1, &call) && holds(demo, demo->rung, 1, true);
    tell(story, (cli_demo_step){.what = "it fails again, and waits in the broker",
                                .queue = demo->rung,
                                .outcome = "retried",
                                .meaning = "A longer wait lies in a queue, whatever becomes of us.",
                                .order = 2,
                                .attempt = 2,
                                .id = demo->ids[1],
                                .ok = good});
}

static void second_order_comes_back(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call before = {.order = 0};
    cli_demo_call call = {.order = 0};
    bool good = cli_demo_await(demo, 2, 2, ACEMQ_FAILED, 1, &before) &&
                cli_demo_await(demo, 2, 3, ACEMQ_ACCEPTED, 1, &call) && call.body_is_unchanged &&
                call.at - before.at >= demo->rung_delay - CLOCK_GRAIN &&
                cli_demo_count(demo, 2) == 3;
    tell(story, (cli_demo_step){.what = "order 2 comes back, and is handled",
                                .queue = demo->queue,
                                .outcome = "acknowledged",
                                .meaning = "The payment service is back; nobody had to look.",
                                .order = 2,
                                .attempt = 3,
                                .id = demo->ids[1],
                                .ok = good});
}

static void third_order_is_dead_lettered(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call call = {.order = 0};
    bool good = cli_demo_await(demo, 3, 3, ACEMQ_FAILED, 1, &call) &&
                holds(demo, demo->dead_letters, 1, false) &&
                lies_there(demo, demo->dead_letters, 3, 3,
                           "exhausted 3 attempts: the order has no price") &&
                cli_demo_count(demo, 3) == 3;
    tell(story,
         (cli_demo_step){.what = "order 3 runs out of attempts",
                         .queue = demo->dead_letters,
                         .outcome = "dead-lettered",
                         .meaning = "A bug no wait can heal. It is kept, with the reason on it.",
                         .order = 3,
                         .attempt = 3,
                         .id = demo->ids[2],
                         .ok = good});
}

static bool counters_add_up(cli_demo *demo)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    acemq_error *error = NULL;
    if (acemq_consumer_get_counters(demo->consumer, &counters, &error) != ACEMQ_OK) {
        complain(error);
        return false;
    }
    return counters.acknowledged == 2 && counters.rejected == 6 && counters.retried == 4 &&
           counters.dead_lettered == 1 && counters.parked == 1 && counters.in_flight == 0;
}

/* The last hop is counted once the broker has confirmed it, a moment after it can be seen. */
static void counts_are_right(cli_story *story)
{
    cli_demo *demo = story->demo;
    int64_t deadline = cli_now() + PATIENCE;
    bool good = counters_add_up(demo);
    while (!good && cli_now() < deadline && !cli_interrupted()) {
        cli_wait_for_interrupt(LOOK_EVERY);
        good = counters_add_up(demo);
    }
    good = good && holds(demo, demo->queue, 0, false) && holds(demo, demo->rung, 0, false);
    tell(story, (cli_demo_step){.what = "the consumer's counters",
                                .queue = demo->queue,
                                .outcome = "add up",
                                .meaning = "2 acknowledged, 4 retried, 1 dead-lettered, 1 parked.",
                                .ok = good});
}

static void third_order_is_replayed(cli_story *story)
{
    cli_demo *demo = story->demo;
    acemq_error *error = NULL;
    acemq_replay_result result = {.size = sizeof result};
    pthread_mutex_lock(&demo->mutex);
    demo->is_fixed = true;
    pthread_mutex_unlock(&demo->mutex);
    bool good = acemq_replay(demo->mq, demo->queue, NULL, &result, &error) == ACEMQ_OK &&
                result.replayed == 1 && result.declined == 0 && result.left == 0;
    complain(error);
    tell(story,
         (cli_demo_step){.what = "the bug is fixed, the dead letters are replayed",
                         .queue = demo->dead_letters,
                         .outcome = "replayed",
                         .meaning = "Back to its queue, confirmed there, and only then gone here.",
                         .order = 3,
                         .id = demo->ids[2],
                         .ok = good});
}

static void third_order_succeeds(cli_story *story)
{
    cli_demo *demo = story->demo;
    cli_demo_call call = {.order = 0};
    bool good = cli_demo_await(demo, 3, 1, ACEMQ_ACCEPTED, 1, &call) && call.body_is_unchanged &&
                call.replay_count == 1 && cli_demo_count(demo, 3) == 4;
    tell(story, (cli_demo_step){.what = "order 3 is handled",
                                .queue = demo->queue,
                                .outcome = "acknowledged",
                                .meaning = "The same id and body, and a first attempt again.",
                                .order = 3,
                                .attempt = 1,
                                .id = demo->ids[2],
                                .ok = good});
}

static void one_is_left(cli_story *story)
{
    cli_demo *demo = story->demo;
    bool good = holds(demo, demo->queue, 0, false) && holds(demo, demo->dead_letters, 0, false) &&
                holds(demo, demo->parked, 1, false) && cli_demo_count(demo, 0) == 0 &&
                cli_demo_count(demo, 1) == 1 && !demo->too_many_calls;
    tell(story, (cli_demo_step){.what = "what is left in the end",
                                .queue = demo->parked,
                                .outcome = "1 parked",
                                .meaning = "The unreadable one. All other queues are empty.",
                                .order = 4,
                                .id = demo->ids[3],
                                .ok = good});
}

bool cli_demo_tell(cli_demo *demo)
{
    static void (*const steps[])(cli_story * story) = {
        orders_are_placed,
        first_order_succeeds,
        fourth_order_is_parked,
        second_order_waits_here,
        second_order_waits_in_the_broker,
        second_order_comes_back,
        third_order_is_dead_lettered,
        counts_are_right,
        third_order_is_replayed,
        third_order_succeeds,
        one_is_left,
    };
    cli_story story = {demo, cli_json_stdout(), true};
    char *policy = NULL;
    if (acemq_policy_format(demo->policy, &policy, NULL) == ACEMQ_OK) {
        cli_demo_print_head(&story.json, demo->json, policy);
    }
    acemq_free(policy);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && story.ok && !cli_interrupted(); i++) {
        steps[i](&story);
    }
    bool ok = story.ok && !cli_interrupted();
    cli_demo_print_end(&story.json, demo->json, ok);
    return ok;
}
