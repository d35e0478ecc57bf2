#include "patterns/relay_pass.h"

#include "contract/limits.h"
#include "engine/metrics.h"
#include "engine/waiter.h"

#include <stdlib.h>

#define STORE_TIMEOUT INT64_C(10000)
#define SETTLE_WAIT   INT64_C(200) /* between two tries, doubling */

typedef struct leased {
    ace_outbox_rows rows;
    ace_publish *publishes;       /* as many as there are rows, like the next two */
    ace_publish **order;          /* those to send together */
    ace_outbox_verdict *verdicts; /* given back, unless said otherwise */
    ace_error **errors;           /* behind the reasons */
    char owner[ACE_UUID_LENGTH + 1];
    int64_t until; /* monotonic: the lease */
    bool broken;   /* the way to the broker */
} leased;

static const ace_log *log_of(const ace_relay_pass *pass)
{
    return &pass->connection->settings.log;
}

static ace_metrics *metrics_of(const ace_relay_pass *pass)
{
    return atomic_load(&pass->connection->metrics);
}

/* --- one row --- */

static bool is_own_fault(ace_code code)
{
    switch (code) {
    case ACE_UNROUTABLE:
    case ACE_NACKED:
    case ACE_INVALID_ARGUMENT:
    case ACE_LIMIT:
    case ACE_PARSE:
    case ACE_RESERVED_HEADER:
    case ACE_NOT_FOUND:      /* no such exchange */
    case ACE_ACCESS_REFUSED: /* not this user's */
        return true;
    default:
        return false;
    }
}

/* Somewhat less than until the next look, which new messages may bring on long before: its attempts
 * are not to be used up by them. */
static int64_t rest_of(const ace_relay_options *options)
{
    int64_t look = options->every < options->lease ? options->every : options->lease;
    return look - look / 10;
}

static void judge(ace_relay_pass *pass, leased *own, size_t at, ace_code code, ace_error *error)
{
    ace_outbox_verdict *verdict = &own->verdicts[at];
    own->errors[at] = error;
    if (code == ACE_OK) {
        verdict->result = ACE_OUTBOX_PUBLISHED;
        pass->counts.published++;
        ace_metrics_count(metrics_of(pass), ACE_METRIC_OUTBOX_TOTAL, "published", NULL, 1);
        return;
    }
    const ace_outbox_row *row = verdict->row;
    if (!is_own_fault(code)) {
        own->broken = true;
        ace_log_write(log_of(pass), ACE_LOG_WARNING, "outbox: %s goes back: %s",
                      (const char *)row->record.id.data, ace_error_message(error));
        return;
    }
    verdict->result = ACE_OUTBOX_FAILED;
    verdict->reason = ace_error_message(error);
    verdict->rest = rest_of(pass->options);
    bool was_last = ace_outbox_is_last_attempt(pass->outbox, row);
    pass->counts.failed++;
    pass->counts.retired += was_last;
    ace_metrics_count(metrics_of(pass), ACE_METRIC_OUTBOX_TOTAL, was_last ? "retired" : "failed",
                      NULL, 1);
    ace_log_write(log_of(pass), ACE_LOG_WARNING, "outbox: %s %s: %s",
                  (const char *)row->record.id.data,
                  was_last ? "is retired" : "could not be published", ace_error_message(error));
}

static bool encode(ace_relay_pass *pass, leased *own, size_t at)
{
    const ace_outbox_record *record = &own->rows.rows[at].record;
    const char *fault = own->rows.rows[at].fault;
    ace_outbox_restored restored;
    ace_error *error = NULL;
    if (fault != NULL) {
        ace_code unreadable = ace_fail(&error, ACE_PARSE, "%s", fault);
        judge(pass, own, at, unreadable, error);
        return false;
    }
    ace_code code = ace_outbox_restore(record, &restored, &error);
    if (code == ACE_OK) {
        code = ace_publish_encode(&own->publishes[at], restored.exchange, restored.routing_key,
                                  true, &restored.head.properties, record->body,
                                  ace_link_frame_max(pass->connection->publishing),
                                  pass->connection->settings.body_limit, &error);
    }
    ace_outbox_restored_release(&restored);
    if (code != ACE_OK) {
        judge(pass, own, at, code, error);
        return false;
    }
    int64_t wait = pass->options->lease / 2;
    wait = wait < ACE_CONFIRM_TIMEOUT ? wait : ACE_CONFIRM_TIMEOUT;
    own->publishes[at].deadline = ace_publisher_deadline(pass->connection->publisher, wait);
    return true;
}

static void take_result(ace_relay_pass *pass, leased *own, ace_publish *publish)
{
    size_t at = (size_t)(publish - own->publishes);
    ace_error *error = publish->error;
    publish->error = NULL;
    judge(pass, own, at, publish->code, error);
}

static void send_together(ace_relay_pass *pass, leased *own, size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        own->order[i]->code = ACE_REFUSED; /* should the call not even begin */
    }
    (void)ace_publisher_send_all(pass->connection->publisher, ACE_PUBLISH_APPLICATION, own->order,
                                 count, pass->cancel, NULL);
    for (size_t i = 0; i < count; i++) {
        take_result(pass, own, own->order[i]);
    }
}

/* --- all of them --- */

static void publish_fresh(ace_relay_pass *pass, leased *own)
{
    size_t count = 0;
    for (size_t i = 0; i < own->rows.count; i++) {
        if (own->rows.rows[i].attempts == 0 && encode(pass, own, i)) {
            own->order[count++] = &own->publishes[i];
        }
    }
    send_together(pass, own, count);
}

static void publish_alone(ace_relay_pass *pass, leased *own, size_t at)
{
    if (encode(pass, own, at)) {
        own->order[0] = &own->publishes[at];
        send_together(pass, own, 1);
    }
}

static int64_t now(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

/* What starts later could not be marked within the lease. */
static int64_t latest_start(const ace_relay_pass *pass, const leased *own)
{
    return own->until - pass->options->lease / 2;
}

static bool is_cut_off(const leased *own, size_t at)
{
    return own->errors[at] != NULL && ace_error_code(own->errors[at]) == ACE_UNKNOWN_OUTCOME;
}

/* Whether all that went wrong is that rows made the broker close the channel. */
static bool is_rows_doing(const leased *own)
{
    bool has_culprit = false;
    for (size_t i = 0; i < own->rows.count; i++) {
        ace_code code = own->errors[i] == NULL ? ACE_OK : ace_error_code(own->errors[i]);
        has_culprit = has_culprit || code == ACE_NOT_FOUND || code == ACE_ACCESS_REFUSED;
        if (code != ACE_OK && !is_own_fault(code) && code != ACE_UNKNOWN_OUTCOME) {
            return false;
        }
    }
    return has_culprit;
}

/* Those that one of the others took the channel from go once more, each by itself. */
static void publish_cut_off(ace_relay_pass *pass, leased *own)
{
    if (!own->broken || !is_rows_doing(own)) {
        return;
    }
    own->broken = false;
    for (size_t i = 0; i < own->rows.count && !own->broken; i++) {
        if (is_cut_off(own, i) && now() < latest_start(pass, own)) {
            ace_error_free(own->errors[i]);
            own->errors[i] = NULL;
            ace_publish_clear(&own->publishes[i]);
            publish_alone(pass, own, i);
        }
    }
}

/* Where each costs a channel that takes its time, and the next look is for new ones as well. */
static void publish_failed_before(ace_relay_pass *pass, leased *own)
{
    int64_t end = ace_deadline_after(pass->options->every);
    end = end < latest_start(pass, own) ? end : latest_start(pass, own);
    for (size_t i = 0; i < own->rows.count && !own->broken; i++) {
        if (own->rows.rows[i].attempts > 0 && now() < end) {
            publish_alone(pass, own, i);
        }
    }
}

/* What was published is marked as long as the lease lasts, however often the store fails: unmarked
 * it would be published again. */
static bool settle(ace_relay_pass *pass, const leased *own)
{
    int64_t wait = SETTLE_WAIT;
    for (;;) {
        ace_error *error = NULL;
        ace_code code = ace_outbox_settle(pass->outbox, own->owner, own->verdicts, own->rows.count,
                                          ace_deadline_after(STORE_TIMEOUT), &error);
        if (code == ACE_OK) {
            return true;
        }
        bool goes_on = now() + wait < own->until && !ace_cancel_fired(pass->cancel);
        ace_log_write(log_of(pass), ACE_LOG_ERROR, "outbox: %zu rows cannot be marked%s: %s",
                      own->rows.count,
                      goes_on ? ", trying again" : "; what was published will be again",
                      ace_error_message(error));
        ace_error_free(error);
        if (!goes_on) {
            return false;
        }
        ace_relay_nap(wait, pass->cancel);
        wait *= 2;
    }
}

static bool prepare(leased *own)
{
    size_t count = own->rows.count;
    own->publishes = calloc(count, sizeof *own->publishes);
    own->order = calloc(count, sizeof *own->order);
    own->verdicts = calloc(count, sizeof *own->verdicts);
    own->errors = calloc(count, sizeof *own->errors);
    if (own->publishes == NULL || own->order == NULL || own->verdicts == NULL ||
        own->errors == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        own->verdicts[i] = (ace_outbox_verdict){&own->rows.rows[i], ACE_OUTBOX_GIVEN_BACK, NULL, 0};
    }
    return true;
}

static void clear(leased *own)
{
    for (size_t i = 0; own->publishes != NULL && i < own->rows.count; i++) {
        ace_publish_clear(&own->publishes[i]);
    }
    for (size_t i = 0; own->errors != NULL && i < own->rows.count; i++) {
        ace_error_free(own->errors[i]);
    }
    free(own->publishes);
    free(own->order);
    free(own->verdicts);
    free(own->errors);
    ace_outbox_rows_free(&own->rows);
}

/* How long the oldest row of the batch has waited, which is the oldest that is to be had. */
static void measure_lag(const ace_relay_pass *pass, const leased *own)
{
    double lag = 0;
    if (own->rows.count > 0) {
        int64_t created = own->rows.rows[0].record.created / 1000;
        lag = (double)(ace_clock_wall(pass->connection->settings.clock) - created) / 1000.0;
    }
    ace_metrics_set(metrics_of(pass), ACE_METRIC_OUTBOX_LAG, NULL, lag > 0 ? lag : 0);
}

static ace_relay_outcome run_leased(ace_relay_pass *pass, leased *own)
{
    measure_lag(pass, own);
    if (own->rows.count == 0) {
        return ACE_RELAY_IDLE;
    }
    if (!prepare(own)) {
        return ACE_RELAY_BACK_OFF; /* the lease ends by itself */
    }
    publish_fresh(pass, own);
    publish_cut_off(pass, own);
    publish_failed_before(pass, own);
    if (!settle(pass, own) || own->broken) {
        return ACE_RELAY_BACK_OFF;
    }
    return own->rows.count == pass->options->batch ? ACE_RELAY_MORE : ACE_RELAY_IDLE;
}

ace_relay_outcome ace_relay_pass_run(ace_relay_pass *pass)
{
    leased own = {.rows = ACE_OUTBOX_ROWS_INIT};
    ace_error *error = NULL;
    ace_uuid_v4(pass->connection->settings.random, own.owner);
    own.until = ace_deadline_after(pass->options->lease);
    ace_code code =
        ace_outbox_lease(pass->outbox, own.owner, pass->options->lease, pass->options->batch,
                         ace_deadline_after(STORE_TIMEOUT), &own.rows, &error);
    if (code != ACE_OK) {
        ace_log_write(log_of(pass), ACE_LOG_ERROR, "outbox: the store answers: %s",
                      ace_error_message(error));
        ace_error_free(error);
        ace_outbox_rows_free(&own.rows);
        return ACE_RELAY_BACK_OFF;
    }
    ace_relay_outcome outcome = run_leased(pass, &own);
    clear(&own);
    return outcome;
}
