#include "engine/health.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void worsen(ace_health_report *report, ace_health health, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void worsen(ace_health_report *report, ace_health health, const char *format, ...)
{
    if (health > report->health) {
        report->health = health;
    }
    if (report->reason[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(report->reason, sizeof report->reason, format, arguments);
    va_end(arguments);
    report
        ->reason[ace_utf8_cut(report->reason, strlen(report->reason), sizeof report->reason - 5)] =
        '\0';
    ace_utf8_clean_line(report->reason);
}

static const char *state_name(ace_link_state state)
{
    switch (state) {
    case ACE_LINK_OPEN:
        return "open";
    case ACE_LINK_WAITING:
        return "waiting";
    case ACE_LINK_CLOSING:
    case ACE_LINK_CLOSED:
        return "closed";
    case ACE_LINK_IDLE:
    case ACE_LINK_CONNECTING:
    default:
        return "connecting";
    }
}

static void judge_links(ace_connection *connection, const ace_connection_status *status,
                        ace_health_report *report)
{
    bool publishes = status->publishing.state == ACE_LINK_OPEN;
    bool consumes = status->consuming.state == ACE_LINK_OPEN;
    const ace_error *why =
        status->publishing.error != NULL ? status->publishing.error : status->consuming.error;
    const char *text = why == NULL ? "it is on its way back" : ace_error_message(why);
    if (ace_handle_is_closed(&connection->handle)) {
        worsen(report, ACE_HEALTH_DOWN, "the connection is closed");
    } else if (!publishes && !consumes) {
        worsen(report, ACE_HEALTH_DOWN, "not connected: %s", text);
    } else if (!publishes) {
        worsen(report, ACE_HEALTH_DEGRADED, "the publishing connection is away: %s", text);
    } else if (!consumes) {
        worsen(report, ACE_HEALTH_DEGRADED, "the consuming connection is away: %s", text);
    }
}

void ace_health_add(ace_health_report *report, const ace_consumer_health *consumer)
{
    /* What JSON cannot hold of a name is not worth an error here. */
    char queue[512];
    (void)snprintf(queue, sizeof queue, "%s", consumer->queue);
    ace_utf8_clean_line(queue);
    if (consumer->away) {
        worsen(report, ACE_HEALTH_DEGRADED, "the consumer of %s is not subscribed", queue);
    }
    if (consumer->failing_hop != NULL) {
        worsen(report, ACE_HEALTH_DEGRADED, "hops to %s fail and are repeated",
               consumer->failing_hop);
    }
    (void)json_array_append_new(
        report->consumers,
        json_pack("{s:s, s:b, s:I, s:I, s:s?}", "queue", queue, "subscribed",
                  (int)consumer->subscribed, "inFlight", (json_int_t)consumer->in_flight, "waiting",
                  (json_int_t)consumer->waiting, "failingHop", consumer->failing_hop));
}

static void ask_members(ace_connection *connection, ace_health_report *report)
{
    ace_mutex_lock(&connection->mutex);
    for (ace_link_node *node = ace_list_first(&connection->members); node != NULL;
         node = ace_list_next(&connection->members, node)) {
        ace_member *member = ACE_RECORD(node, ace_member, node);
        if (member->health != NULL) {
            member->health(member, report);
        }
    }
    ace_mutex_unlock(&connection->mutex);
}

ace_code ace_health_read(ace_connection *connection, ace_health_report *report, ace_error **error)
{
    *report = (ace_health_report){.health = ACE_HEALTH_UP, .consumers = json_array()};
    if (report->consumers == NULL) {
        return ace_fail_memory(error);
    }
    ace_connection_status status;
    ace_connection_describe(connection, &status);
    report->publishing = state_name(status.publishing.state);
    report->consuming = state_name(status.consuming.state);
    if (status.blocked) {
        (void)snprintf(report->blocked, sizeof report->blocked, "%s",
                       status.publishing.reason[0] == '\0' ? "no reason given"
                                                           : status.publishing.reason);
        ace_utf8_clean_line(report->blocked);
    }
    judge_links(connection, &status, report);
    ace_error_free(status.publishing.error);
    ace_error_free(status.consuming.error);
    ask_members(connection, report);
    return ACE_OK;
}

void ace_health_release(ace_health_report *report)
{
    json_decref(report->consumers);
    report->consumers = NULL;
}

const char *ace_health_name(ace_health health)
{
    switch (health) {
    case ACE_HEALTH_UP:
        return "up";
    case ACE_HEALTH_DEGRADED:
        return "degraded";
    case ACE_HEALTH_DOWN:
    default:
        return "down";
    }
}

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

char *ace_health_json(const ace_health_report *report)
{
    json_t *json = json_pack(
        "{s:s, s:s?, s:s?, s:s, s:s, s:O}", "status", ace_health_name(report->health), "reason",
        text_or_null(report->reason), "blocked", text_or_null(report->blocked), "publishing",
        report->publishing, "consuming", report->consuming, "consumers", report->consumers);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}
