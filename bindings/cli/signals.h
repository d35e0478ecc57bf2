/* Ctrl-C and its kind: the first one ends what is under way in an orderly way, the second at once.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <acemq/cancel.h>

#include <stdbool.h>

/* From here on SIGINT, SIGTERM and SIGHUP fire the token instead of ending the process. Called
 * before any other thread is made; false, and said why, when it cannot be done. */
bool cli_signals_take(void);

/* Fired once the user wants an end; NULL before cli_signals_take(). */
acemq_cancel *cli_cancel(void);
bool cli_interrupted(void);
/* Readable once the user wants an end; -1 before cli_signals_take(). Never read from it. */
int cli_interrupted_fd(void);

/* What else is done when the second signal ends the process at once. */
void cli_at_sudden_end(void (*hook)(void));

/* Waits until then, at most so many milliseconds. */
void cli_wait_for_interrupt(int64_t milliseconds);

#endif
