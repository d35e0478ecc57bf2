/* What became of the messages of `acemq publish`, counted from the threads that confirm them. */
#ifndef CLI_PUBLISH_TALLY_H
#define CLI_PUBLISH_TALLY_H

#include "json.h"

#include <acemq/publisher.h>

#include <pthread.h>

#define CLI_TALLY_IDS 100

typedef struct cli_tally {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t under_way;
    uint64_t confirmed;
    uint64_t unroutable;
    uint64_t nacked;
    uint64_t refused;
    uint64_t unknown;
    uint64_t told; /* the outcomes of which the first one was shown, a bit each */
    bool refusing; /* one was refused, and none confirmed since then */
    char *ids[CLI_TALLY_IDS];
    size_t id_count;
} cli_tally;

bool cli_tally_init(cli_tally *tally);
void cli_tally_destroy(cli_tally *tally);

/* Keeps the first ids. */
void cli_tally_id(cli_tally *tally, const char *id);
/* One more is under way. */
void cli_tally_begin(cli_tally *tally);
/* One that was under way ended; an acemq_publish_callback. */
void cli_tally_end(acemq_status status, const acemq_error *error, void *tally);
/* One that was said to be under way is not. */
void cli_tally_withdraw(cli_tally *tally);
/* So many never left. The error is borrowed. */
void cli_tally_refuse(cli_tally *tally, uint64_t count, const acemq_error *error);
/* True when one was refused for want of a broker that takes it, and none was confirmed since. */
bool cli_tally_is_refusing(cli_tally *tally);
/* So many would be refused like that one. */
void cli_tally_refuse_alike(cli_tally *tally, uint64_t count);
/* Waits until none is under way, or a moment once the user wants an end: closing the client ends
 * what is left then. Shows how far it is, of `total` messages, 0: unknown. */
void cli_tally_wait(cli_tally *tally, uint64_t total);

bool cli_tally_all_confirmed(cli_tally *tally);
void cli_tally_print(cli_tally *tally, bool json);

#endif
