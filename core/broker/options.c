/* What a broker is started with. */
#include "broker/dead_letter.h"
#include "broker/message.h"
#include "broker/server.h"
#include "broker/session.h"
#include "broker/topology.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1024 * 1024)

static const ace_broker_user guest = {"guest", "guest"};
static const char *const root_vhost = "/";

void ace_broker_options_init(ace_broker_options *options)
{
    *options = (ace_broker_options){.clock = ace_clock_system(),
                                    .limits = {.connections = 1024,
                                               .channels = 2047,
                                               .queues = 100000,
                                               .exchanges = 10000,
                                               .bindings = 400000,
                                               .message_bytes = 128 * MIB,
                                               .stored_bytes = 1024 * MIB,
                                               .frame_bytes = ACE_FRAME_MAX_DEFAULT,
                                               .outgoing_bytes = 4 * MIB,
                                               .heartbeat = 60,
                                               .handshake_wait = 10000,
                                               .acknowledgement_wait = 1800000}};
}

static ace_code check_range(const char *name, size_t value, size_t least, size_t most,
                            ace_error **error)
{
    if (value >= least && value <= most)
        return ACE_OK;
    ace_fail(error, ACE_INVALID_ARGUMENT, "the broker's limit of %s is %zu, not %zu to %zu", name,
             value, least, most);
    ace_error_field(error, name, (long long)(value < least ? least : most));
    return ACE_INVALID_ARGUMENT;
}

ace_code ace_broker_check_options(const ace_broker_options *options, ace_error **error)
{
    const ace_broker_limits *limits = &options->limits;
    const struct {
        const char *name;
        size_t value;
        size_t least;
        size_t most;
    } ranges[] = {{"connections", limits->connections, 1, 65536},
                  {"channels", limits->channels, 1, UINT16_MAX},
                  {"queues", limits->queues, 1, SIZE_MAX},
                  {"exchanges", limits->exchanges, 1, SIZE_MAX},
                  {"bindings", limits->bindings, 1, SIZE_MAX},
                  {"message bytes", limits->message_bytes, 1, ACE_BODY_MAX_DEFAULT},
                  {"stored bytes", limits->stored_bytes, 1, SIZE_MAX},
                  {"frame bytes", limits->frame_bytes, ACE_FRAME_MAX_LEAST, INT32_MAX},
                  {"outgoing bytes", limits->outgoing_bytes, 1, SIZE_MAX / 64}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        ace_code code =
            check_range(ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most, error);

        if (code != ACE_OK)
            return code;
    }
    if (limits->handshake_wait < 1)
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the broker's handshake wait is below 1 ms");
    if (limits->acknowledgement_wait < 0)
        return ace_fail(error, ACE_INVALID_ARGUMENT,
                        "the broker's acknowledgement wait is below 0 ms");
    return ACE_OK;
}

static bool copy_users(ace_broker_core *core, const ace_broker_user *users, size_t count)
{
    core->users = calloc(count, sizeof(*core->users));
    if (!core->users)
        return false;
    for (core->user_count = 0; core->user_count < count; core->user_count++) {
        ace_broker_user *user = &core->users[core->user_count];

        user->name = strdup(users[core->user_count].name);
        user->password = strdup(users[core->user_count].password);
        if (!user->name || !user->password) {
            core->user_count++;
            return false;
        }
    }
    return true;
}

static bool copy_vhosts(ace_broker_core *core, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!ace_broker_vhost_make(core, names[i]))
            return false;
    }
    return true;
}

ace_code ace_broker_core_init(ace_broker_core *core, const ace_broker_options *options,
                              ace_error **error)
{
    bool has_users = options->users && options->user_count > 0;
    bool has_vhosts = options->vhosts && options->vhost_count > 0;

    core->limits = options->limits;
    core->clock = options->clock ? options->clock : ace_clock_system();
    if (options->log)
        core->log = *options->log;
    core->now = ace_clock_monotonic(core->clock);
    ace_list_init(&core->vhosts);
    ace_list_init(&core->sessions);
    ace_list_init(&core->turns);
    ace_list_init(&core->deaths);
    if (!copy_users(core, has_users ? options->users : &guest,
                    has_users ? options->user_count : 1) ||
        !copy_vhosts(core, has_vhosts ? options->vhosts : &root_vhost,
                     has_vhosts ? options->vhost_count : 1)) {
        ace_broker_core_free(core);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

void ace_broker_core_free(ace_broker_core *core)
{
    ace_link_node *node;

    while ((node = ace_list_first(&core->sessions)))
        ace_broker_session_free(ACE_RECORD(node, ace_broker_session, link));
    while ((node = ace_list_first(&core->vhosts)))
        ace_broker_vhost_free(ACE_RECORD(node, ace_broker_vhost, link));
    ace_broker_dead_letters_free(core);
    ace_timer_heap_free(&core->queue_timers);
    ace_timer_heap_free(&core->session_timers);
    for (size_t i = 0; i < core->user_count; i++) {
        free((char *)(uintptr_t)core->users[i].name);
        free((char *)(uintptr_t)core->users[i].password);
    }
    free(core->users);
}
