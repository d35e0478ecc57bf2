#include "contract/replay_stamp.h"

#include "base/time.h"
#include "contract/hop.h"
#include "contract/value.h"

#define LEGACY_REPLAYED_FROM "x-acemq-replayed-from"
#define LEGACY_REPLAYED_AT   "x-acemq-replayed-at"
#define LEGACY_REPLAY_COUNT  "x-acemq-replay-count"

int32_t ace_replay_count(const amqp_table_t *headers)
{
    int64_t count = 0;
    if (ace_value_integer(ace_table_find(headers, ACE_HEADER_REPLAY_COUNT), 0, INT32_MAX, &count) ||
        ace_value_integer(ace_table_find(headers, LEGACY_REPLAY_COUNT), 0, INT32_MAX, &count)) {
        return (int32_t)count;
    }
    return 0;
}

static ace_code write_stamps(const ace_replay_stamp *stamp, ace_table *headers, ace_error **error)
{
    int32_t count = ace_replay_count(&headers->table);
    char at[ACE_TIME_LENGTH + 1];
    if (!ace_time_format(stamp->now, at)) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the clock is outside the years 0001 to 9999");
    }
    ace_table_remove(headers, LEGACY_REPLAYED_FROM);
    ace_table_remove(headers, LEGACY_REPLAYED_AT);
    ace_table_remove(headers, LEGACY_REPLAY_COUNT);
    ace_code code = ace_table_set_text(headers, ACE_HEADER_REPLAYED_FROM, stamp->from, error);
    if (code == ACE_OK) {
        code = ace_table_set_text(headers, ACE_HEADER_REPLAYED_AT, at, error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_int32(headers, ACE_HEADER_REPLAY_COUNT,
                                   count < INT32_MAX ? count + 1 : count, error);
    }
    return code;
}

static ace_code build(const ace_replay_stamp *stamp, ace_head *head, ace_error **error)
{
    ace_code code = ace_head_copy(head, stamp->properties, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_head_drop_broker_headers(head, true);
    ace_head_drop_broker_properties(head);
    if (!stamp->keeping_attempts) {
        ace_table_remove(&head->headers, ACE_HEADER_ERROR);
        code = ace_table_set_int32(&head->headers, ACE_HEADER_ATTEMPT, 1, error);
    }
    if (code == ACE_OK) {
        code = write_stamps(stamp, &head->headers, error);
    }
    if (code == ACE_OK) {
        ace_head_seal(head);
        code = ace_properties_sendable(&head->properties, stamp->frame_max, error);
    }
    return code;
}

ace_code ace_replay_stamp_build(const ace_replay_stamp *stamp, ace_head *head, ace_error **error)
{
    ace_code code = build(stamp, head, error);
    if (code != ACE_OK) {
        ace_head_release(head);
    }
    return code;
}
