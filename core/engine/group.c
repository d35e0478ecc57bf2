#include "engine/group.h"

#include "engine/waiter.h"

#include <stdlib.h>

struct acemq_group {
    ace_handle handle;
    ace_consumer *consumer; /* one reference */
    int64_t budget;
};

ace_code ace_group_open(ace_connection *connection, const ace_consumer_options *options,
                        int64_t budget, int64_t deadline, ace_cancel *cancel, ace_group **out,
                        ace_error **error)
{
    if (options->members < 1) {
        ace_code code = ace_fail(error, ACE_LIMIT, "members is %d, the limits are 1 and %d",
                                 (int)options->members, ACE_MEMBERS_MOST);
        ace_error_field(error, "members", ACE_MEMBERS_MOST);
        return code;
    }
    ace_group *group = calloc(1, sizeof *group);
    if (group == NULL) {
        return ace_fail_memory(error);
    }
    ace_handle_init(&group->handle, ACE_GROUP_MAGIC);
    group->budget = budget;
    ace_code code =
        ace_consumer_open(connection, options, deadline, cancel, &group->consumer, error);
    if (code != ACE_OK) {
        free(group);
        return code;
    }
    *out = group;
    return ACE_OK;
}

ace_consumer *ace_group_consumer(const ace_group *group)
{
    return group->consumer;
}

ace_code ace_group_scale(ace_group *group, int64_t members, ace_error **error)
{
    return ace_consumer_scale(group->consumer, members, ace_deadline_after(group->budget),
                              ace_consumer_cancel(group->consumer), error);
}

ace_code ace_group_drain(ace_group *group, int64_t deadline, ace_cancel *cancel, ace_work *left,
                         ace_error **error)
{
    ace_code code = ace_consumer_drain(group->consumer, deadline, cancel, error);
    if (code == ACE_TIMEOUT || code == ACE_CANCELLED) {
        ace_consumer_list_work(group->consumer, left);
    }
    return code;
}

ace_code ace_group_close(ace_group *group, ace_error **error)
{
    if (!ace_handle_close(&group->handle)) {
        return ace_fail(error, ACE_CLOSED, "the group is closed");
    }
    ace_code code = ACE_OK;
    if (!ace_consumer_is_current(group->consumer)) {
        code = ace_consumer_drain(group->consumer, ace_deadline_after(group->budget),
                                  ace_consumer_cancel(group->consumer), error);
    }
    (void)ace_consumer_close(group->consumer, NULL);
    return code;
}

void ace_group_release(ace_group *group)
{
    if (group == NULL) {
        return;
    }
    (void)ace_handle_close(&group->handle);
    ace_consumer_release(group->consumer);
    if (ace_handle_release(&group->handle)) {
        free(group);
    }
}
