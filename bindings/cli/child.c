#include "child.h"

#include "output.h"
#include "progress.h"
#include "signals.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE        5000 /* ms between SIGTERM and SIGKILL */
#define MOST_AT_ONCE 1024
#define LONGEST_LINE ((size_t)1024 * 1024) /* no header is as long: what is cut is cut there */

/* The processes that run, for the sudden end; 0: free. */
static _Atomic pid_t running[MOST_AT_ONCE];

/* One command, while it runs. */
typedef struct cli_child {
    pid_t process;
    int process_fd; /* readable once it ended */
    int input;      /* -1 once all is written */
    int errors;     /* -1 once it is closed at the other end */
    const char *unwritten;
    size_t unwritten_length;
    int64_t kill_at; /* 0: it was not asked to end yet */
    char *line;
    size_t line_length;
    size_t line_capacity;
    bool line_ended;
} cli_child;

static void note_running(pid_t process, pid_t instead)
{
    for (size_t i = 0; i < MOST_AT_ONCE; i++) {
        pid_t expected = instead;
        if (atomic_compare_exchange_strong(&running[i], &expected, process)) {
            return;
        }
    }
}

void cli_kill_commands(void)
{
    for (size_t i = 0; i < MOST_AT_ONCE; i++) {
        pid_t process = atomic_load(&running[i]);
        if (process > 0) {
            (void)kill(-process, SIGKILL);
        }
    }
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* It begins with the signals as a shell would give them to it, not as we have them. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGHUP);
    int fault = posix_spawnattr_setsigmask(attributes, &none);
    fault = fault != 0 ? fault : posix_spawnattr_setsigdefault(attributes, &defaults);
    fault = fault != 0 ? fault : posix_spawnattr_setpgroup(attributes, 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    return fault != 0 ? fault : posix_spawnattr_setflags(attributes, flags);
}

static int spawn(cli_child *child, const char *command, char *const environment[], int input,
                 int errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL}; /* which are not written to */
    int fault = posix_spawn_file_actions_init(&actions);
    if (fault != 0) {
        return fault;
    }
    fault = posix_spawnattr_init(&attributes);
    if (fault != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return fault;
    }
    fault = set_attributes(&attributes);
    fault = fault != 0 ? fault : posix_spawn_file_actions_adddup2(&actions, input, 0);
    fault = fault != 0 ? fault : posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, 1);
    fault = fault != 0 ? fault : posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (fault == 0) {
        fault = posix_spawn(&child->process, "/bin/sh", &actions, &attributes, words, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

static bool start(cli_child *child, const char *command, char *const environment[])
{
    int input[2] = {-1, -1};
    int errors[2] = {-1, -1};
    int fault = pipe2(input, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0 ? 0 : errno;
    if (fault == 0) {
        fault = spawn(child, command, environment, input[0], errors[1]);
    }
    close_fd(&input[0]);
    close_fd(&errors[1]);
    child->input = input[1];
    child->errors = errors[0];
    if (fault == 0) {
        note_running(child->process, 0);
        child->process_fd = pidfd_open(child->process, 0);
        (void)fcntl(child->input, F_SETFL, O_NONBLOCK);
        (void)fcntl(child->errors, F_SETFL, O_NONBLOCK);
        return true;
    }
    close_fd(&child->input);
    close_fd(&child->errors);
    errno = fault;
    cli_fail_system("the command cannot be started");
    return false;
}

static void write_input(cli_child *child)
{
    ssize_t count = write(child->input, child->unwritten, child->unwritten_length);
    if (count > 0) {
        child->unwritten += count;
        child->unwritten_length -= (size_t)count;
    }
    bool again = count < 0 && (errno == EAGAIN || errno == EINTR);
    /* A command need not read what it gets. */
    if (child->unwritten_length == 0 || (count < 0 && !again)) {
        close_fd(&child->input);
    }
}

/* Room for one more byte and the end. Without memory the line is cut. */
static bool line_has_room(cli_child *child)
{
    if (child->line_length + 1 < child->line_capacity) {
        return true;
    }
    size_t capacity = child->line_capacity == 0 ? 256 : 2 * child->line_capacity;
    char *line = capacity > LONGEST_LINE ? NULL : realloc(child->line, capacity);
    if (line == NULL) {
        return false;
    }
    child->line = line;
    child->line_capacity = capacity;
    return true;
}

/* Keeps the last line that is not empty. */
static void keep_line(cli_child *child, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n') {
            child->line_ended = true;
            continue;
        }
        if (child->line_ended) {
            child->line_length = 0;
            child->line_ended = false;
        }
        if (line_has_room(child)) {
            child->line[child->line_length++] = text[i];
        }
    }
}

static void pass_on(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t count = write(STDERR_FILENO, text, length);
        if (count < 0 && errno != EINTR) {
            return; /* nobody reads it */
        }
        text += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
}

/* False when there is nothing more now. */
static bool read_errors(cli_child *child)
{
    char text[4096];
    ssize_t count = read(child->errors, text, sizeof text);
    if (count > 0) {
        pass_on(text, (size_t)count);
        keep_line(child, text, (size_t)count);
        return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(&child->errors);
    }
    return false;
}

/* SIGTERM, and once the grace is over SIGKILL, to all that it started. */
static void ask_to_end(cli_child *child)
{
    int64_t now = cli_now();
    if (child->kill_at == 0) {
        child->kill_at = now + GRACE;
        (void)kill(-child->process, SIGTERM);
    } else if (now >= child->kill_at) {
        (void)kill(-child->process, SIGKILL);
        child->kill_at = INT64_MAX;
    }
}

static int poll_time(const cli_child *child)
{
    if (child->process_fd < 0) {
        return 20; /* the kernel cannot tell when it ends: look */
    }
    if (child->kill_at == 0 || child->kill_at == INT64_MAX) {
        return -1;
    }
    int64_t left = child->kill_at - cli_now();
    return left < 0 ? 0 : (int)left;
}

/* Sees to what there is; true when the process ended. */
static bool attend(cli_child *child, int *status)
{
    bool asked = child->kill_at != 0;
    struct pollfd fds[] = {{.fd = child->process_fd, .events = POLLIN},
                           {.fd = child->input, .events = POLLOUT},
                           {.fd = child->errors, .events = POLLIN},
                           {.fd = asked ? -1 : cli_interrupted_fd(), .events = POLLIN}};
    if (poll(fds, 4, poll_time(child)) < 0 && errno != EINTR) {
        return waitpid(child->process, status, 0) == child->process;
    }
    if (fds[1].revents != 0) {
        write_input(child);
    }
    if (fds[2].revents != 0) {
        (void)read_errors(child);
    }
    if (cli_interrupted()) {
        ask_to_end(child);
    }
    return waitpid(child->process, status, WNOHANG) == child->process;
}

static void tidy_line(char *line, size_t length)
{
    size_t at = 0;
    while (at < length) {
        size_t width = cli_utf8_character(line + at, length - at);
        bool is_control = (unsigned char)line[at] < ' ' || line[at] == 0x7f;
        if (width == 0 || (is_control && line[at] != '\t')) {
            line[at] = '?';
        } else if (line[at] == '\t') {
            line[at] = ' ';
        }
        at += width == 0 ? 1 : width;
    }
    line[length] = '\0';
}

/* The last line, whose owner is the caller; NULL when there is none. */
static char *take_line(cli_child *child)
{
    size_t length = child->line_length;
    /* A Windows line break is none of its text. */
    while (length > 0 && child->line[length - 1] == '\r') {
        length--;
    }
    if (length == 0) {
        free(child->line);
        return NULL;
    }
    tidy_line(child->line, length);
    return child->line;
}

bool cli_run_command(const char *command, char *const environment[], acemq_bytes input,
                     cli_ending *ending)
{
    cli_child child = {.unwritten = input.data, .unwritten_length = input.length};
    int status = 0;
    *ending = (cli_ending){.status = -1};
    if (!start(&child, command, environment)) {
        return false;
    }
    if (child.unwritten_length == 0) {
        close_fd(&child.input);
    }
    while (!attend(&child, &status)) {
    }
    note_running(0, child.process);
    while (child.errors >= 0 && read_errors(&child)) {
    }
    close_fd(&child.errors);
    close_fd(&child.input);
    close_fd(&child.process_fd);
    ending->last_line = take_line(&child);
    ending->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ending->was_ended = child.kill_at != 0;
    return true;
}
