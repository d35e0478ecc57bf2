/* The memory broker and clients that send anything: what it answers is AMQP, its limits hold, and
 * nothing is left when they are gone. One thread drives it as its own would. */
#include "broker/queue.h"
#include "broker/server.h"
#include "broker/session.h"
#include "fuzz/frames.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory_stream.h"
#include "fuzz/simulated_time.h"
#include "wire/method.h"

#include <amqp_framing.h>
#include <string.h>

#define CLIENTS      2
#define STORED_BYTES (256 * 1024)

/* Bits of the input's first byte. */
#define RAW_LOGIN   1 /* the first client logs in by itself */
#define SLOW_READER 2 /* the first client reads nothing at first */

typedef struct scene {
    ace_broker_core core;
    memory_stream *clients[CLIENTS];
} scene;

static void start(scene *scene)
{
    ace_broker_options options;
    ace_broker_options_init(&options);
    options.limits.queues = 8;
    options.limits.exchanges = 4;
    options.limits.bindings = 16;
    options.limits.channels = 8;
    options.limits.message_bytes = 64 * 1024;
    options.limits.stored_bytes = STORED_BYTES;
    options.limits.outgoing_bytes = 16 * 1024;
    FUZZ_DEMAND(ace_broker_core_init(&scene->core, &options, NULL) == ACE_OK);
    scene->core.now = simulated_time_now();
}

/* --- one round, as the broker's thread has it --- */

static void run_timers(ace_broker_core *core)
{
    core->now = simulated_time_now();
    ace_timer_run(&core->queue_timers, core->now);
    ace_broker_turns_run(core);
    ace_timer_run(&core->session_timers, core->now);
}

static void receive_all(ace_broker_core *core)
{
    for (ace_link_node *node = ace_list_first(&core->sessions); node != NULL;
         node = ace_list_next(&core->sessions, node)) {
        ace_broker_session_receive(ACE_RECORD(node, ace_broker_session, link));
    }
}

static void flush_all(ace_broker_core *core)
{
    for (ace_link_node *node = ace_list_first(&core->sessions); node != NULL;
         node = ace_list_next(&core->sessions, node)) {
        ace_broker_session *session = ACE_RECORD(node, ace_broker_session, link);
        ace_broker_session_flush(session);
        ace_broker_session_resume(session);
        ace_broker_turns_run(core);
    }
}

static void dismiss_dead(ace_broker_core *core)
{
    ace_link_node *node = ace_list_first(&core->sessions);
    while (node != NULL) {
        ace_broker_session *session = ACE_RECORD(node, ace_broker_session, link);
        node = ace_list_next(&core->sessions, node);
        if (session->state == ACE_SESSION_DEAD) {
            ace_broker_session_free(session);
            ace_broker_turns_run(core);
        }
    }
}

static void run_round(scene *scene)
{
    run_timers(&scene->core);
    receive_all(&scene->core);
    flush_all(&scene->core);
    dismiss_dead(&scene->core);
    FUZZ_DEMAND(!scene->core.work_failed);
    FUZZ_DEMAND(scene->core.stored_bytes <= STORED_BYTES);
    FUZZ_DEMAND(scene->core.queue_count <= scene->core.limits.queues);
    FUZZ_DEMAND(scene->core.exchange_count <= scene->core.limits.exchanges);
    FUZZ_DEMAND(scene->core.binding_count <= scene->core.limits.bindings);
}

/* --- clients --- */

static void append_method(ace_buffer *wire, uint16_t channel, amqp_method_number_t id,
                          const void *method)
{
    FUZZ_DEMAND(ace_method_write(wire, channel, id, method, 0, NULL) == ACE_OK);
}

static void log_in(memory_stream *client)
{
    ace_buffer wire = ACE_BUFFER_INIT;
    amqp_connection_start_ok_t start = {.mechanism = amqp_cstring_bytes("PLAIN"),
                                        .response = {12, (void *)(uintptr_t) "\0guest\0guest"},
                                        .locale = amqp_cstring_bytes("en_US")};
    amqp_connection_tune_ok_t tune = {.channel_max = 8, .frame_max = 131072, .heartbeat = 10};
    amqp_connection_open_t open = {.virtual_host = amqp_cstring_bytes("/")};
    amqp_channel_open_t channel = {.out_of_band = amqp_empty_bytes};
    FUZZ_DEMAND(ace_frame_write_protocol_header(&wire, NULL) == ACE_OK);
    append_method(&wire, 0, AMQP_CONNECTION_START_OK_METHOD, &start);
    append_method(&wire, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &tune);
    append_method(&wire, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
    append_method(&wire, 1, AMQP_CHANNEL_OPEN_METHOD, &channel);
    append_method(&wire, 2, AMQP_CHANNEL_OPEN_METHOD, &channel);
    memory_stream_feed(client, (ace_bytes){wire.data, wire.length});
    ace_buffer_free(&wire);
}

static void leave(scene *scene, int index)
{
    memory_stream *client = scene->clients[index];
    if (client == NULL) {
        return;
    }
    client->ended = true;
    client->room = SIZE_MAX;
    run_round(scene);
    if (!client->closed) { /* it has more to read than one round takes, or is draining */
        client->broken = true;
        run_round(scene);
    }
    FUZZ_DEMAND(client->closed);
    fuzz_check_output((ace_bytes){client->from_library.data, client->from_library.length},
                      ACE_FRAME_CLIENT, 131072);
    memory_stream_free(client);
    scene->clients[index] = NULL;
}

static void join(scene *scene, int index, bool logged_in)
{
    leave(scene, index);
    scene->clients[index] = memory_stream_new();
    FUZZ_DEMAND(ace_broker_session_make(&scene->core, &scene->clients[index]->stream) != NULL);
    if (logged_in) {
        log_in(scene->clients[index]);
        run_round(scene);
    }
}

/* --- the script --- */

static void take_step(scene *scene, fuzz_input *input)
{
    uint8_t step = fuzz_take_byte(input);
    int index = step / 8 % CLIENTS;
    memory_stream *client = scene->clients[index];
    ace_buffer wire = ACE_BUFFER_INIT;
    switch (step % 8) {
    case 5:
        simulated_time_advance(fuzz_take_short(input));
        break;
    case 6:
        client->room = step / 16 % 2 == 0 ? SIZE_MAX : step;
        break;
    case 7:
        join(scene, index, step / 16 % 2 == 0);
        break;
    default:
        for (int left = step % 8; left >= 0; left--) {
            fuzz_append_frames(input, &wire);
        }
        memory_stream_feed(client, (ace_bytes){wire.data, wire.length});
        ace_buffer_free(&wire);
        break;
    }
    run_round(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    scene scene = {0};
    uint8_t first = fuzz_take_byte(&input);
    simulated_time_reset();
    start(&scene);
    join(&scene, 0, (first & RAW_LOGIN) == 0);
    join(&scene, 1, true);
    if ((first & SLOW_READER) != 0) {
        scene.clients[0]->room = 0;
    }
    while (input.left > 0) {
        take_step(&scene, &input);
    }
    for (int i = 0; i < CLIENTS; i++) {
        leave(&scene, i);
    }
    FUZZ_DEMAND(ace_list_empty(&scene.core.sessions));
    ace_broker_core_free(&scene.core);
    return 0;
}
