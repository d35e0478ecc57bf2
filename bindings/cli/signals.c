#include "signals.h"

#include "output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static acemq_cancel *cancel;
static atomic_bool interrupted;
static int interrupted_fd = -1;
static _Atomic(void (*)(void)) sudden_end;

static sigset_t taken_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

static void *watch(void *unused)
{
    (void)unused;
    sigset_t signals = taken_signals();
    int signal_number;
    if (sigwait(&signals, &signal_number) != 0) {
        return NULL;
    }
    uint64_t one = 1;
    atomic_store(&interrupted, true);
    acemq_cancel_fire(cancel);
    if (write(interrupted_fd, &one, sizeof one) != (ssize_t)sizeof one) {
        cli_say("the waiting threads could not be told to end");
    }
    if (sigwait(&signals, &signal_number) == 0) {
        void (*hook)(void) = atomic_load(&sudden_end);
        if (hook != NULL) {
            hook();
        }
        _exit(128 + signal_number);
    }
    return NULL;
}

bool cli_signals_take(void)
{
    acemq_error *error = NULL;
    if (acemq_cancel_new(&cancel, &error) != ACEMQ_OK) {
        cli_fail(error);
        return false;
    }
    interrupted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigset_t signals = taken_signals();
    pthread_t thread;
    if (interrupted_fd < 0 || (errno = pthread_sigmask(SIG_BLOCK, &signals, NULL)) != 0 ||
        (errno = pthread_create(&thread, NULL, watch, NULL)) != 0) {
        cli_fail_system("signals cannot be watched");
        return false;
    }
    pthread_detach(thread);
    return true;
}

acemq_cancel *cli_cancel(void)
{
    return cancel;
}

bool cli_interrupted(void)
{
    return atomic_load(&interrupted);
}

int cli_interrupted_fd(void)
{
    return interrupted_fd;
}

void cli_at_sudden_end(void (*hook)(void))
{
    atomic_store(&sudden_end, hook);
}

void cli_wait_for_interrupt(int64_t milliseconds)
{
    struct pollfd waited = {.fd = interrupted_fd, .events = POLLIN};
    (void)poll(&waited, 1, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}
