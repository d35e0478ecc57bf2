#include "publish_tally.h"

#include "output.h"
#include "progress.h"
#include "signals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY      100
#define AFTER_INTERRUPT 1000

bool cli_tally_init(cli_tally *tally)
{
    pthread_condattr_t attributes;
    *tally = (cli_tally){.under_way = 0};
    bool good = pthread_condattr_init(&attributes) == 0;
    good = good && pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0;
    good = good && pthread_mutex_init(&tally->mutex, NULL) == 0;
    return good && pthread_cond_init(&tally->changed, &attributes) == 0;
}

void cli_tally_destroy(cli_tally *tally)
{
    for (size_t i = 0; i < tally->id_count; i++) {
        free(tally->ids[i]);
    }
    pthread_cond_destroy(&tally->changed);
    pthread_mutex_destroy(&tally->mutex);
}

void cli_tally_id(cli_tally *tally, const char *id)
{
    if (tally->id_count < CLI_TALLY_IDS) {
        char *copy = strdup(id);
        tally->ids[tally->id_count] = copy;
        tally->id_count += copy != NULL ? 1 : 0;
    }
}

void cli_tally_begin(cli_tally *tally)
{
    pthread_mutex_lock(&tally->mutex);
    tally->under_way++;
    pthread_mutex_unlock(&tally->mutex);
}

void cli_tally_withdraw(cli_tally *tally)
{
    pthread_mutex_lock(&tally->mutex);
    tally->under_way--;
    pthread_mutex_unlock(&tally->mutex);
}

/* Where an outcome is counted. The broker declines by a nack, or by closing the channel over the
 * message. */
static uint64_t *counter_of(cli_tally *tally, acemq_status status)
{
    switch (status) {
    case ACEMQ_OK:
        return &tally->confirmed;
    case ACEMQ_E_UNROUTABLE:
        return &tally->unroutable;
    case ACEMQ_E_NACKED:
    case ACEMQ_E_ACCESS_REFUSED:
    case ACEMQ_E_NOT_FOUND:
    case ACEMQ_E_CHANNEL_CLOSED:
        return &tally->nacked;
    case ACEMQ_E_UNKNOWN_OUTCOME:
    case ACEMQ_E_CANCELLED:
    case ACEMQ_E_CONNECTION_LOST:
        return &tally->unknown;
    default:
        return &tally->refused;
    }
}

/* The first of its kind is shown; a million others say the same. */
static bool is_news(cli_tally *tally, acemq_status status)
{
    uint64_t bit = status >= 0 && status < 64 ? UINT64_C(1) << status : UINT64_C(1) << 63;
    bool news = status != ACEMQ_OK && (tally->told & bit) == 0;
    tally->told |= status == ACEMQ_OK ? 0 : bit;
    return news;
}

static void count(cli_tally *tally, acemq_status status, const acemq_error *error, uint64_t count)
{
    uint64_t *counter = counter_of(tally, status);
    *counter += count;
    tally->refusing = status == ACEMQ_E_REFUSED || (tally->refusing && status != ACEMQ_OK);
    if (is_news(tally, status)) {
        cli_fail(acemq_error_copy(error));
    }
}

void cli_tally_end(acemq_status status, const acemq_error *error, void *user)
{
    cli_tally *tally = user;
    pthread_mutex_lock(&tally->mutex);
    count(tally, status, error, 1);
    tally->under_way--;
    pthread_cond_signal(&tally->changed);
    pthread_mutex_unlock(&tally->mutex);
}

void cli_tally_refuse(cli_tally *tally, uint64_t refused, const acemq_error *error)
{
    acemq_status status = acemq_error_code(error);
    pthread_mutex_lock(&tally->mutex);
    bool is_refusal = counter_of(tally, status) == &tally->refused;
    count(tally, is_refusal ? status : ACEMQ_E_REFUSED, error, refused);
    pthread_mutex_unlock(&tally->mutex);
}

bool cli_tally_is_refusing(cli_tally *tally)
{
    pthread_mutex_lock(&tally->mutex);
    bool refusing = tally->refusing;
    pthread_mutex_unlock(&tally->mutex);
    return refusing;
}

void cli_tally_refuse_alike(cli_tally *tally, uint64_t refused)
{
    pthread_mutex_lock(&tally->mutex);
    tally->refused += refused;
    pthread_mutex_unlock(&tally->mutex);
}

static void wait_a_moment(cli_tally *tally)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_EVERY * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&tally->changed, &tally->mutex, &until);
}

void cli_tally_wait(cli_tally *tally, uint64_t total)
{
    cli_progress progress = {.what = "confirmed"};
    int64_t give_up = INT64_MAX;
    pthread_mutex_lock(&tally->mutex);
    while (tally->under_way > 0 && cli_now() < give_up) {
        wait_a_moment(tally);
        cli_progress_show(&progress, tally->confirmed, total);
        if (cli_interrupted() && give_up == INT64_MAX) {
            give_up = cli_now() + AFTER_INTERRUPT;
        }
    }
    pthread_mutex_unlock(&tally->mutex);
    cli_progress_end(&progress);
}

static uint64_t sent(const cli_tally *tally)
{
    return tally->confirmed + tally->unroutable + tally->nacked + tally->unknown;
}

bool cli_tally_all_confirmed(cli_tally *tally)
{
    pthread_mutex_lock(&tally->mutex);
    bool all = sent(tally) == tally->confirmed && tally->refused == 0;
    pthread_mutex_unlock(&tally->mutex);
    return all;
}

static void print_json(const cli_tally *tally)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "sent", sent(tally));
    cli_json_member_unsigned(&json, "confirmed", tally->confirmed);
    cli_json_member_unsigned(&json, "unroutable", tally->unroutable);
    cli_json_member_unsigned(&json, "nacked", tally->nacked);
    cli_json_member_unsigned(&json, "refused", tally->refused);
    cli_json_member_unsigned(&json, "unknown", tally->unknown);
    cli_json_name(&json, "ids");
    cli_json_array(&json);
    for (size_t i = 0; i < tally->id_count; i++) {
        cli_json_text(&json, tally->ids[i]);
    }
    cli_json_end_array(&json);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static void print_count(const char *what, uint64_t number)
{
    if (number > 0) {
        printf(", %" PRIu64 " %s", number, what);
    }
}

static void print_text(const cli_tally *tally)
{
    printf("%" PRIu64 " sent, %" PRIu64 " confirmed", sent(tally), tally->confirmed);
    print_count("unroutable", tally->unroutable);
    print_count("nacked", tally->nacked);
    print_count("refused", tally->refused);
    print_count("unknown", tally->unknown);
    printf("\n");
    if (tally->id_count == 1) {
        printf("id %s\n", tally->ids[0]);
    }
}

void cli_tally_print(cli_tally *tally, bool json)
{
    pthread_mutex_lock(&tally->mutex);
    if (json) {
        print_json(tally);
    } else {
        print_text(tally);
    }
    pthread_mutex_unlock(&tally->mutex);
}
