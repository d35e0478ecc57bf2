#include "patterns/queue_kind.h"

#include "contract/table.h"
#include "patterns/precondition.h"

#include <stdlib.h>
#include <string.h>

#define MOST_QUESTIONS 32 /* arguments that a queue can have, and then some */

/* The declaration that is tried: as classic as it can be, made equal to what is there argument by
 * argument, until what is left to differ is the type. */
typedef struct kind_question {
    ace_table arguments;
    bool durable;
    bool auto_delete;
    bool knows_type;
    ace_queue_kind kind;
} kind_question;

static ace_queue_kind kind_named(ace_bytes name)
{
    if (ace_bytes_equal_text(name, "quorum")) {
        return ACE_QUEUE_KIND_QUORUM;
    }
    if (ace_bytes_equal_text(name, "stream")) {
        return ACE_QUEUE_KIND_STREAM;
    }
    return ACE_QUEUE_KIND_CLASSIC;
}

static bool is_text(ace_bytes type)
{
    return ace_bytes_equal_text(type, "longstr");
}

static ace_code adopt_argument(kind_question *question, const char *name,
                               const ace_precondition *told, ace_error **error)
{
    if (ace_bytes_equal_text(told->theirs, "none")) {
        ace_table_remove(&question->arguments, name);
        return ACE_OK;
    }
    if (is_text(told->their_type)) {
        return ace_table_set_longstr(&question->arguments, name, told->theirs, error);
    }
    char *text = ace_bytes_to_text(told->theirs);
    if (text == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ACE_OK;
    if (ace_bytes_equal_text(told->their_type, "bool")) {
        code = ace_table_set_bool(&question->arguments, name, strcmp(text, "true") == 0, error);
    } else {
        code = ace_table_set_int64(&question->arguments, name, strtoll(text, NULL, 10), error);
    }
    free(text);
    return code;
}

/* Makes the next question of a refusal. *settled: there is nothing more to ask. */
static ace_code learn(kind_question *question, const ace_error *refusal, bool *settled,
                      ace_error **error)
{
    ace_precondition told;
    if (!ace_precondition_read(ace_error_message(refusal), &told)) {
        *settled = true;
        return ACE_OK;
    }
    if (ace_bytes_equal_text(told.argument, "x-queue-type")) {
        question->kind = kind_named(told.theirs);
        *settled = true;
        return ACE_OK;
    }
    if (ace_bytes_equal_text(told.argument, "durable")) {
        question->durable = ace_bytes_equal_text(told.theirs, "true");
        return ACE_OK;
    }
    if (ace_bytes_equal_text(told.argument, "auto_delete")) {
        question->auto_delete = ace_bytes_equal_text(told.theirs, "true");
        return ACE_OK;
    }
    char *name = ace_bytes_to_text(told.argument);
    if (name == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = adopt_argument(question, name, &told, error);
    free(name);
    return code;
}

static ace_code ask(ace_session *session, const char *queue, const kind_question *question,
                    int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    amqp_queue_declare_t declare = {.queue = ace_bytes_to_amqp(ace_bytes_of(queue)),
                                    .durable = question->durable,
                                    .auto_delete = question->auto_delete,
                                    .arguments = question->arguments.table};
    return ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &declare, NULL, deadline, cancel,
                            error);
}

static bool is_answer_of_broker(ace_code code)
{
    return code == ACE_ACCESS_REFUSED || code == ACE_LOCKED || code == ACE_NOT_FOUND ||
           code == ACE_CHANNEL_CLOSED;
}

static ace_code ask_until_told(ace_session *session, const char *queue, kind_question *question,
                               int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    bool settled = false;
    for (int asked = 0; !settled && asked < MOST_QUESTIONS; asked++) {
        ace_error *refusal = NULL;
        ace_code code = ask(session, queue, question, deadline, cancel, &refusal);
        if (code == ACE_OK) {
            question->kind = ACE_QUEUE_KIND_CLASSIC;
            settled = true;
        } else if (is_answer_of_broker(code)) {
            settled = true;
        } else if (code != ACE_DIFFERS) {
            return ace_error_move(error, refusal);
        } else {
            code = learn(question, refusal, &settled, error);
        }
        ace_error_free(refusal);
        if (code != ACE_OK && !settled) {
            return code;
        }
    }
    return ACE_OK;
}

ace_code ace_queue_find_kind(ace_session *session, const char *queue, int64_t deadline,
                             ace_cancel *cancel, ace_queue_kind *kind, ace_error **error)
{
    kind_question question = {.arguments = ACE_TABLE_INIT, .durable = true};
    ace_code code = ace_table_set_text(&question.arguments, "x-queue-type", "classic", error);
    if (code == ACE_OK) {
        code = ask_until_told(session, queue, &question, deadline, cancel, error);
    }
    *kind = question.kind;
    ace_table_release(&question.arguments);
    return code;
}

static bool is_delay(const char *text, size_t length)
{
    static const char *const units[] = {"ms", "s", "m", "h"};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits >= length) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (length - digits == strlen(units[i]) &&
            memcmp(text + digits, units[i], length - digits) == 0) {
            return true;
        }
    }
    return false;
}

bool ace_name_is_rung(const char *queue)
{
    static const char infix[] = ".retry.";
    static const char durable[] = ".durable";
    const char *found = NULL;
    for (const char *at = strstr(queue, infix); at != NULL; at = strstr(at + 1, infix)) {
        found = at;
    }
    if (found == NULL || found == queue) {
        return false;
    }
    const char *delay = found + sizeof infix - 1;
    size_t length = strlen(delay);
    size_t suffix = sizeof durable - 1;
    if (length > suffix && strcmp(delay + length - suffix, durable) == 0) {
        length -= suffix;
    }
    return is_delay(delay, length);
}
