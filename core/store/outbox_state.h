/* What every kind of outbox begins with. */
#ifndef ACE_STORE_OUTBOX_STATE_H
#define ACE_STORE_OUTBOX_STATE_H

#include "base/handle.h"
#include "base/thread.h"
#include "store/outbox.h"

#include <stdatomic.h>

typedef enum ace_outbox_kind {
    ACE_OUTBOX_MEMORY,
    ACE_OUTBOX_LMDB,
    ACE_OUTBOX_POSTGRES,
} ace_outbox_kind;

struct acemq_outbox {
    ace_handle handle;
    ace_outbox_kind kind;
    const ace_outbox_calls *calls;
    int32_t attempts;
    ace_clock *clock;
    char name[64];
    atomic_int_fast64_t last_stamp;
    ace_mutex mutex; /* of the watchers */
    ace_list watchers;
};

/* Checks the options; on failure nothing is left to destroy. */
ace_code ace_outbox_init(ace_outbox *outbox, ace_outbox_kind kind, const ace_outbox_calls *calls,
                         const ace_outbox_options *options, ace_error **error);
void ace_outbox_deinit(ace_outbox *outbox);

/* ACE_INVALID_ARGUMENT: a record of this id is there. */
ace_code ace_outbox_fail_known(const ace_outbox_record *record, ace_error **error);
/* The reason, cut at a character's end to what is kept of it. */
ace_bytes ace_outbox_cut_reason(const char *reason);

#endif
