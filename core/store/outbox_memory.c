/* The outbox in memory: for tests, and for what may be lost with the process. */
#include "store/outbox_state.h"

#include <stdlib.h>
#include <string.h>

typedef struct memory {
    ace_outbox outbox;
    ace_mutex mutex;
    ace_outbox_rows rows; /* in their order */
} memory;

static memory *of(ace_outbox *outbox)
{
    return ACE_RECORD(outbox, memory, outbox);
}

static int compare_bytes(ace_bytes a, ace_bytes b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static bool is_before(const ace_outbox_row *row, const ace_outbox_record *record)
{
    return row->record.created != record->created ? row->record.created < record->created
                                                  : compare_bytes(row->record.id, record->id) < 0;
}

static ace_outbox_row *find(memory *self, ace_bytes id)
{
    for (size_t i = 0; i < self->rows.count; i++) {
        if (ace_bytes_equal(self->rows.rows[i].record.id, id)) {
            return &self->rows.rows[i];
        }
    }
    return NULL;
}

static ace_code insert(memory *self, const ace_outbox_record *record, ace_error **error)
{
    if (find(self, record->id) != NULL) {
        return ace_outbox_fail_known(record, error);
    }
    ace_outbox_row row = {.record = *record};
    if (!ace_outbox_rows_add(&self->rows, &row)) {
        return ace_fail_memory(error);
    }
    ace_outbox_row added = self->rows.rows[self->rows.count - 1];
    size_t at = self->rows.count - 1;
    while (at > 0 && !is_before(&self->rows.rows[at - 1], record)) {
        self->rows.rows[at] = self->rows.rows[at - 1];
        at--;
    }
    self->rows.rows[at] = added;
    return ACE_OK;
}

static ace_code add(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                    int64_t deadline, ace_error **error)
{
    (void)transaction;
    (void)deadline;
    memory *self = of(outbox);
    ace_mutex_lock(&self->mutex);
    ace_code code = insert(self, record, error);
    ace_mutex_unlock(&self->mutex);
    return code;
}

static bool is_pending(const memory *self, const ace_outbox_row *row)
{
    return row->published == 0 && row->attempts < self->outbox.attempts;
}

/* The row's own texts lie in one block: what is new is a block of its own with all of them. */
static bool change(ace_outbox_row *row, const ace_outbox_row *changed)
{
    ace_outbox_rows one = ACE_OUTBOX_ROWS_INIT;
    if (!ace_outbox_rows_add(&one, changed)) {
        ace_outbox_rows_free(&one);
        return false;
    }
    free(row->block);
    *row = one.rows[0];
    free(one.rows);
    return true;
}

static ace_code lease(ace_outbox *outbox, const char *owner, int64_t time, size_t most,
                      int64_t deadline, ace_outbox_rows *rows, ace_error **error)
{
    (void)deadline;
    memory *self = of(outbox);
    int64_t now = ace_clock_wall(outbox->clock);
    ace_code code = ACE_OK;
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->rows.count && rows->count < most && code == ACE_OK; i++) {
        ace_outbox_row *row = &self->rows.rows[i];
        bool free_to_take = row->locked_until <= now || ace_bytes_equal_text(row->locked_by, owner);
        if (is_pending(self, row) && free_to_take) {
            ace_outbox_row changed = *row;
            changed.locked_by = ace_bytes_of(owner);
            changed.locked_until = now + time;
            if (!change(row, &changed) || !ace_outbox_rows_add(rows, row)) {
                code = ace_fail_memory(error);
            }
        }
    }
    ace_mutex_unlock(&self->mutex);
    return code;
}

static bool settle_row(memory *self, ace_outbox_row *row, const char *owner,
                       const ace_outbox_verdict *verdict)
{
    ace_outbox_row changed = *row;
    changed.locked_by = (ace_bytes){NULL, 0};
    changed.locked_until = 0;
    if (verdict->result == ACE_OUTBOX_PUBLISHED) {
        changed.published = ace_clock_wall(self->outbox.clock) * 1000;
    } else if (!ace_bytes_equal_text(row->locked_by, owner)) {
        return true;
    } else if (verdict->result == ACE_OUTBOX_FAILED) {
        changed.attempts++;
        changed.locked_until =
            verdict->rest > 0 ? ace_clock_wall(self->outbox.clock) + verdict->rest : 0;
        changed.last_error = ace_outbox_cut_reason(verdict->reason);
    }
    return change(row, &changed);
}

static ace_code settle(ace_outbox *outbox, const char *owner, const ace_outbox_verdict *verdicts,
                       size_t count, int64_t deadline, ace_error **error)
{
    (void)deadline;
    memory *self = of(outbox);
    ace_code code = ACE_OK;
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < count && code == ACE_OK; i++) {
        ace_outbox_row *row = find(self, verdicts[i].row->record.id);
        if (row != NULL && row->published == 0 && !settle_row(self, row, owner, &verdicts[i])) {
            code = ace_fail_memory(error);
        }
    }
    ace_mutex_unlock(&self->mutex);
    return code;
}

static ace_code list(ace_outbox *outbox, ace_outbox_list which, size_t most, int64_t deadline,
                     ace_outbox_rows *rows, ace_error **error)
{
    (void)deadline;
    memory *self = of(outbox);
    ace_code code = ACE_OK;
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->rows.count && rows->count < most && code == ACE_OK; i++) {
        const ace_outbox_row *row = &self->rows.rows[i];
        bool wanted = row->published == 0 && is_pending(self, row) == (which == ACE_OUTBOX_PENDING);
        if (wanted && !ace_outbox_rows_add(rows, row)) {
            code = ace_fail_memory(error);
        }
    }
    ace_mutex_unlock(&self->mutex);
    return code;
}

static ace_code count_rows(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                           ace_error **error)
{
    (void)deadline;
    (void)error;
    memory *self = of(outbox);
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->rows.count; i++) {
        const ace_outbox_row *row = &self->rows.rows[i];
        if (row->published != 0) {
            counts->published++;
        } else if (!is_pending(self, row)) {
            counts->retired++;
        } else if (counts->pending++ == 0) {
            int64_t age = ace_clock_wall(outbox->clock) - row->record.created / 1000;
            counts->oldest_age = age > 0 ? age : 0;
        }
    }
    ace_mutex_unlock(&self->mutex);
    return ACE_OK;
}

static ace_code release(ace_outbox *outbox, const char *id, int64_t deadline, uint64_t *released,
                        ace_error **error)
{
    (void)deadline;
    (void)error;
    memory *self = of(outbox);
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->rows.count; i++) {
        ace_outbox_row *row = &self->rows.rows[i];
        bool is_retired = row->published == 0 && !is_pending(self, row);
        if (is_retired && (id == NULL || ace_bytes_equal_text(row->record.id, id))) {
            row->attempts = 0;
            row->locked_until = 0;
            (*released)++;
        }
    }
    ace_mutex_unlock(&self->mutex);
    return ACE_OK;
}

static ace_code purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                      ace_error **error)
{
    (void)deadline;
    (void)error;
    memory *self = of(outbox);
    int64_t now = ace_clock_wall(outbox->clock) * 1000;
    size_t kept = 0;
    ace_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->rows.count; i++) {
        ace_outbox_row *row = &self->rows.rows[i];
        if (row->published != 0 && (now - row->published) / 1000 >= age) {
            free(row->block);
            (*purged)++;
        } else {
            self->rows.rows[kept++] = *row;
        }
    }
    self->rows.count = kept;
    ace_mutex_unlock(&self->mutex);
    return ACE_OK;
}

static void destroy(ace_outbox *outbox)
{
    memory *self = of(outbox);
    ace_outbox_rows_free(&self->rows);
    ace_mutex_destroy(&self->mutex);
    ace_outbox_deinit(outbox);
    free(self);
}

static const ace_outbox_calls calls = {
    .add = add,
    .lease = lease,
    .settle = settle,
    .list = list,
    .count = count_rows,
    .release = release,
    .purge = purge,
    .destroy = destroy,
};

ace_code ace_outbox_open_memory(const ace_outbox_options *options, ace_outbox **outbox,
                                ace_error **error)
{
    memory *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&self->mutex, error);
    if (code == ACE_OK) {
        code = ace_outbox_init(&self->outbox, ACE_OUTBOX_MEMORY, &calls, options, error);
        if (code != ACE_OK) {
            ace_mutex_destroy(&self->mutex);
        }
    }
    if (code != ACE_OK) {
        free(self);
        return code;
    }
    *outbox = &self->outbox;
    return ACE_OK;
}
