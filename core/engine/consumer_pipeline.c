/* The way of one delivery through its receiver, step by step (section 6 of the contract). */
#include "engine/consumer_state.h"
#include "engine/consumer_watch.h"

#include <stdlib.h>

static ace_bytes content_type_of(const ace_delivery *delivery)
{
    ace_bytes type;
    return ace_delivery_property_text(delivery, ACE_PROPERTY_CONTENT_TYPE, &type)
               ? type
               : (ace_bytes){NULL, 0};
}

/* What cannot be reported is stale already, and the broker delivers it again. */
static void report(ace_delivery *delivery, ace_happening what, const char *reason)
{
    if (ace_delivery_report(delivery, what, reason, NULL) == ACE_OUT_OF_MEMORY) {
        (void)ace_delivery_report(delivery, what, NULL, NULL);
    }
}

void ace_consumer_judge(ace_delivery *delivery, ace_happening what, const char *reason)
{
    if (delivery->consumer->reviewer == NULL) {
        report(delivery, what, reason);
        return;
    }
    delivery->judged = what;
    if (reason != NULL) {
        ace_delivery_set_reason(delivery, reason);
    }
}

bool ace_consumer_prepare(ace_consumer *consumer, ace_delivery *delivery)
{
    if (consumer->codec == NULL) {
        return true;
    }
    ace_error *error = NULL;
    ace_buffer room = ACE_BUFFER_INIT;
    ace_code code = ace_codec_open(consumer->codec, content_type_of(delivery),
                                   delivery->content->body, &room, &delivery->body, &error);
    free(delivery->opened);
    delivery->opened = room.data;
    if (code == ACE_OK) {
        return true;
    }
    ace_happening what = code == ACE_DECODE ? ACE_HAPPENED_UNDECODABLE : ACE_HAPPENED_FAILED;
    ace_consumer_judge(delivery, what, ace_error_message(error));
    ace_error_free(error);
    return false;
}

static void run_handler(ace_consumer *consumer, ace_delivery *delivery)
{
    atomic_fetch_add(&consumer->delivered, 1);
    ace_watch_begun(delivery);
    ace_happening what = ACE_HAPPENED_FAILED;
    switch ((int)consumer->handler(delivery, consumer->user)) {
    case ACE_ACCEPTED:
        what = ACE_HAPPENED_ACCEPTED;
        break;
    case ACE_REJECTED:
        what = ACE_HAPPENED_FATAL;
        break;
    case ACE_PARKED:
        what = ACE_HAPPENED_PARKED;
        break;
    default: /* a failure, and whatever else a handler may return */
        break;
    }
    ace_consumer_judge(delivery, what, NULL);
}

/* From decoding on, for the first time, and then for as long as its reviewer wants it again. What
 * was decoded once stays so: others may still look at it. */
static void handle_reviewed(ace_consumer *consumer, ace_delivery *delivery)
{
    bool prepared = false;
    ace_review review = ACE_REVIEW_AGAIN;
    while (review == ACE_REVIEW_AGAIN && !ace_consumer_is_stale(consumer, delivery)) {
        ace_delivery_set_reason(delivery, NULL);
        prepared = prepared || ace_consumer_prepare(consumer, delivery);
        if (prepared && ace_consumer_intercept(consumer, delivery)) {
            run_handler(consumer, delivery);
        }
        ace_happening what = delivery->judged;
        review = consumer->reviewer(delivery, &what, consumer->user);
        if (review == ACE_REVIEW_SETTLE) {
            report(delivery, what, NULL);
        } else if (review == ACE_REVIEW_PUT_BACK) {
            ace_delivery_hand_back(delivery);
        } else {
            ace_watch_judged(delivery, &(ace_receiver_verdict){.what = what});
        }
    }
}

void ace_consumer_handle(ace_consumer *consumer, ace_delivery *delivery)
{
    if (consumer->reviewer != NULL) {
        handle_reviewed(consumer, delivery);
    } else if (!ace_consumer_is_stale(consumer, delivery) &&
               ace_consumer_prepare(consumer, delivery) && ace_claims_take(delivery) &&
               ace_consumer_intercept(consumer, delivery)) {
        run_handler(consumer, delivery);
    }
    ace_delivery_drop_views(delivery);
}
