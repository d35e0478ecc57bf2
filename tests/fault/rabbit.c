#include "rabbit.h"

#include "ledger.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 8

pid_t fault_spawn(char *const arguments[])
{
    pid_t process = 0;
    posix_spawn_file_actions_t actions;
    /* Standard output is for the result alone. */
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) != 0 ||
        posix_spawn(&process, arguments[0], &actions, NULL, arguments, environ) != 0) {
        fault_die(arguments[0]);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return process;
}

int fault_reap(pid_t process, long wait)
{
    int status = 0;
    int64_t deadline = fault_now() + wait;
    while (waitpid(process, &status, WNOHANG) != process) {
        if (fault_now() >= deadline) {
            return -1;
        }
        fault_nap(10);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const char *first, va_list rest)
{
    char *arguments[ARGUMENTS_MAX + 2] = {getenv("ACEMQ_TEST_BROKER_CONTROL")};
    int count = 1;
    if (arguments[0] == NULL) {
        fault_die("ACEMQ_TEST_BROKER_CONTROL names packaging/broker");
    }
    for (const char *word = first; word != NULL && count <= ARGUMENTS_MAX;
         word = va_arg(rest, const char *)) {
        arguments[count++] = (char *)(uintptr_t)word;
    }
    return fault_reap(fault_spawn(arguments), 300000);
}

int rabbit_try(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int status = run(first, rest);
    va_end(rest);
    return status;
}

void rabbit(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int status = run(first, rest);
    va_end(rest);
    if (status != 0) {
        fault_die(first);
    }
}

void rabbit_alarm(int raised)
{
    rabbit("ctl", "-q", "set_vm_memory_high_watermark", raised ? "0" : "0.4", NULL);
}
