#include "event.h"

#include "engine/consumer.h"

#include <stdlib.h>

_Static_assert((int)ACEMQ_LOG_ERROR == (int)ACE_LOG_ERROR &&
                   (int)ACEMQ_LOG_WARNING == (int)ACE_LOG_WARNING &&
                   (int)ACEMQ_LOG_INFO == (int)ACE_LOG_INFO &&
                   (int)ACEMQ_LOG_DEBUG == (int)ACE_LOG_DEBUG,
               "one numbering of the log levels");

static acemq_event_kind kind_of(const ace_event *event)
{
    switch (event->kind) {
    case ACE_EVENT_CREDENTIALS:
        return ACEMQ_EVENT_CREDENTIALS_WANTED;
    case ACE_EVENT_CONFIRM:
        return ACEMQ_EVENT_CONFIRM;
    case ACE_EVENT_SETTLE:
        return ACEMQ_EVENT_SETTLE_FAILED;
    case ACE_EVENT_CONSUMER:
        return ACEMQ_EVENT_CONSUMER_ENDED;
    case ACE_EVENT_LOG:
        return ACEMQ_EVENT_LOG;
    case ACE_EVENT_INTERCEPTOR:
        return ACEMQ_EVENT_INTERCEPTOR_FAILED;
    case ACE_EVENT_SETTLED:
        return ACEMQ_EVENT_SETTLED;
    case ACE_EVENT_METRIC:
        return ACEMQ_EVENT_METRIC;
    case ACE_EVENT_ORDER:
        return event->state == ACE_ORDER_HALTED ? ACEMQ_EVENT_PARTITION_HALTED
                                                : ACEMQ_EVENT_ORDER_GAP;
    case ACE_EVENT_STATE:
    case ACE_EVENT_BLOCKED:
    case ACE_EVENT_UNBLOCKED:
    default:
        return ACEMQ_EVENT_CONNECTION;
    }
}

void ace_event_tell_interceptors(ace_event *event)
{
    if (event->kind == ACE_EVENT_CONFIRM && event->attachment != NULL) {
        event->attachment_release(event->attachment);
        event->attachment = NULL;
    }
}

acemq_event *ace_event_to_public(ace_event *event)
{
    acemq_event *made = calloc(1, sizeof *made);
    if (made == NULL) {
        ace_event_free(event);
        return NULL;
    }
    made->event = event;
    made->kind = kind_of(event);
    made->next_try = -1;
    switch (made->kind) {
    case ACEMQ_EVENT_CONNECTION:
        made->number = event->state;
        made->next_try = event->wait;
        break;
    case ACEMQ_EVENT_LOG:
        made->number = event->level;
        break;
    case ACEMQ_EVENT_CONFIRM:
    case ACEMQ_EVENT_PARTITION_HALTED:
    case ACEMQ_EVENT_ORDER_GAP:
    case ACEMQ_EVENT_SETTLE_FAILED:
        made->number = (int64_t)event->number;
        break;
    default:
        break;
    }
    return made;
}

acemq_connection_state ace_state_of_links(ace_link_state publishing, ace_link_state consuming,
                                          bool blocked)
{
    if (publishing == ACE_LINK_OPEN && consuming == ACE_LINK_OPEN) {
        return blocked ? ACEMQ_CONNECTION_BLOCKED : ACEMQ_CONNECTION_OPEN;
    }
    if (publishing == ACE_LINK_CLOSED || consuming == ACE_LINK_CLOSED) {
        return ACEMQ_CONNECTION_FAILED;
    }
    return ACEMQ_CONNECTION_RECONNECTING;
}

acemq_event_kind acemq_event_get_kind(const acemq_event *event)
{
    return event == NULL ? (acemq_event_kind)0 : event->kind;
}

int64_t acemq_event_number(const acemq_event *event)
{
    return event == NULL ? 0 : event->number;
}

const char *acemq_event_text(const acemq_event *event)
{
    return event == NULL || event->event->text == NULL ? "" : event->event->text;
}

const acemq_error *acemq_event_error(const acemq_event *event)
{
    return event == NULL ? NULL : event->event->error;
}

int64_t acemq_event_next_try(const acemq_event *event)
{
    return event == NULL ? -1 : event->next_try;
}

const acemq_settlement *acemq_event_settlement(const acemq_event *event)
{
    return event == NULL || event->kind != ACEMQ_EVENT_SETTLED ? NULL : event->event->attachment;
}

const acemq_observation *acemq_event_observation(const acemq_event *event)
{
    return event == NULL || event->kind != ACEMQ_EVENT_METRIC ? NULL : event->event->attachment;
}

void acemq_event_free(acemq_event *event)
{
    if (event != NULL) {
        ace_event_free(event->event);
        free(event);
    }
}
