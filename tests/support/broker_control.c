#include "support/broker_control.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32

extern char **environ;

static char *read_all(int descriptor)
{
    char *text = NULL;
    size_t length = 0;
    for (;;) {
        char *longer = realloc(text, length + 65537);
        ck_assert_ptr_nonnull(longer);
        text = longer;
        ssize_t got = read(descriptor, text + length, 65536);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        ck_assert_msg(got >= 0, "the broker's control: %s", strerror(errno));
        length += (size_t)got;
        if (got == 0) {
            text[length] = '\0';
            return text;
        }
    }
}

static char *run(char *const arguments[])
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO), 0);
    int error = posix_spawn(&process, arguments[0], &actions, NULL, arguments, environ);
    ck_assert_msg(error == 0, "%s does not start: %s", arguments[0], strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char *output = read_all(ends[0]);
    close(ends[0]);
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s %s failed (%d): %s",
                  arguments[0], arguments[1], status, output);
    return output;
}

typedef struct words {
    char *word[ARGUMENTS_MAX + 1];
    size_t count;
} words;

static void add(words *list, const char *word)
{
    ck_assert_uint_lt(list->count, ARGUMENTS_MAX);
    list->word[list->count] = strdup(word);
    ck_assert_ptr_nonnull(list->word[list->count]);
    list->count++;
    list->word[list->count] = NULL;
}

static void begin(words *list)
{
    const char *program = getenv("ACEMQ_TEST_BROKER_CONTROL");
    ck_assert_msg(program != NULL, "ACEMQ_TEST_BROKER_CONTROL is not set");
    list->count = 0;
    add(list, program);
}

static char *run_and_free(words *list)
{
    char *output = run(list->word);
    for (size_t i = 0; i < list->count; i++) {
        free(list->word[i]);
    }
    return output;
}

static void add_rest(words *list, const char *first, va_list rest)
{
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *)) {
        add(list, word);
    }
}

char *broker_control(const char *first, ...)
{
    words list;
    va_list rest;
    begin(&list);
    va_start(rest, first);
    add_rest(&list, first, rest);
    va_end(rest);
    return run_and_free(&list);
}

char *broker_control_ctl(const char *first, ...)
{
    words list;
    va_list rest;
    begin(&list);
    add(&list, "ctl");
    add(&list, "-q");
    va_start(rest, first);
    add_rest(&list, first, rest);
    va_end(rest);
    return run_and_free(&list);
}

json_t *broker_control_json(const char *first, ...)
{
    words list;
    va_list rest;
    json_error_t error;
    begin(&list);
    add(&list, "ctl");
    add(&list, "-q");
    va_start(rest, first);
    add_rest(&list, first, rest);
    va_end(rest);
    add(&list, "--formatter");
    add(&list, "json");
    char *output = run_and_free(&list);
    json_t *document = json_loads(output, 0, &error);
    ck_assert_msg(document != NULL, "rabbitmqctl %s: %s in %s", first, error.text, output);
    free(output);
    return document;
}

static json_t *with_prefix(json_t *rows, const char *member, const char *prefix)
{
    json_t *kept = json_array();
    json_t *row;
    size_t index;
    json_array_foreach(rows, index, row)
    {
        const char *name = json_string_value(json_object_get(row, member));
        if (name != NULL && strncmp(name, prefix, strlen(prefix)) == 0) {
            json_array_append(kept, row);
        }
    }
    json_decref(rows);
    return kept;
}

void broker_control_keep_declared(void)
{
    free(broker_control_ctl("eval", "ok = mnesia:sync_log().", NULL));
}

json_t *broker_control_queues(const char *prefix)
{
    return with_prefix(
        broker_control_json("list_queues", "name", "type", "durable", "arguments", NULL), "name",
        prefix);
}

json_t *broker_control_bindings(const char *prefix)
{
    json_t *rows =
        with_prefix(broker_control_json("list_bindings", NULL), "destination_name", prefix);
    for (size_t i = json_array_size(rows); i-- > 0;) {
        json_t *source = json_object_get(json_array_get(rows, i), "source_name");
        if (json_string_length(source) == 0) {
            json_array_remove(rows, i);
        }
    }
    return rows;
}

void broker_control_delete(const char *prefix)
{
    char *program = getenv("ACEMQ_TEST_BROKER_CONTROL");
    char expression[1024];
    snprintf(expression, sizeof expression,
             "[rabbit_amqqueue:delete(Q, false, false, <<\"trial\">>) ||"
             " Q <- rabbit_amqqueue:list(<<\"/\">>),"
             " string:prefix(element(4, amqqueue:get_name(Q)), <<\"%s\">>) =/= nomatch],"
             "[rabbit_exchange:delete(E, false, <<\"trial\">>) ||"
             " E <- rabbit_exchange:list_names(),"
             " string:prefix(element(4, E), <<\"%s\">>) =/= nomatch], ok.",
             prefix, prefix);
    char *arguments[] = {program, "ctl", "-q", "eval", expression, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status = -1;
    if (program == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        return;
    }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&process, program, &actions, NULL, arguments, environ) == 0) {
        waitpid(process, &status, 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) {
        fprintf(stderr, "what starts with %s could not be deleted from RabbitMQ\n", prefix);
    }
}
