#include "client.h"

#include "arguments.h"
#include "engine/consumer.h"
#include "engine/waiter.h"
#include "event.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_CREDENTIAL 256 /* with its NUL; AMQP logs in with short strings */

static void wipe(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}

static ace_code init_locks(ace_client *client, ace_error **error)
{
    ace_code code = ace_mutex_init(&client->mutex, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_condition_init(&client->answered, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&client->mutex);
    }
    return code;
}

ace_code ace_client_new(const acemq_connect_options *options, ace_client **out, ace_error **error)
{
    ace_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = init_locks(client, error);
    if (code != ACE_OK) {
        free(client);
        return code;
    }
    atomic_init(&client->references, 1);
    atomic_init(&client->events, NULL);
    atomic_init(&client->closing, false);
    client->credentials_callback = options->credentials_callback;
    client->credentials_user = options->credentials_user;
    client->log_callback = options->log_callback;
    client->log_user = options->log_user;
    client->cancel = options->cancel == NULL ? NULL : ace_cancel_keep(options->cancel);
    client->connect_timeout = options->timeout;
    client->publish_timeout = options->publish_timeout;
    client->wanted = options->events;
    client->publishing = ACE_LINK_IDLE;
    client->consuming = ACE_LINK_IDLE;
    client->told = ACEMQ_CONNECTION_OPEN;
    *out = client;
    return ACE_OK;
}

void ace_client_release(void *user)
{
    ace_client *client = user;
    if (client == NULL ||
        atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    ace_dispatch_pool_free(&client->dispatches);
    ace_cancel_release(client->cancel);
    wipe(client->name);
    wipe(client->password);
    ace_condition_destroy(&client->answered);
    ace_mutex_destroy(&client->mutex);
    free(client);
}

static ace_code hand_over(const char *name, const char *password, ace_credentials *credentials,
                          ace_error **error)
{
    credentials->user = strdup(name);
    credentials->password = strdup(password);
    return credentials->user == NULL || credentials->password == NULL ? ace_fail_memory(error)
                                                                      : ACE_OK;
}

static ace_code ask_callback(ace_client *client, ace_credentials *credentials, ace_error **error)
{
    char name[LONGEST_CREDENTIAL] = "";
    char password[LONGEST_CREDENTIAL] = "";
    if (client->credentials_callback(name, password, sizeof name, client->credentials_user) != 0) {
        return ace_fail(error, ACE_LOGIN_REFUSED, "the credentials callback has none");
    }
    name[sizeof name - 1] = '\0';
    password[sizeof password - 1] = '\0';
    ace_code code = hand_over(name, password, credentials, error);
    explicit_bzero(password, sizeof password);
    return code;
}

/* With the lock held. */
static ace_code await_answer(ace_client *client, ace_error **error)
{
    int64_t deadline = ace_deadline_after(client->connect_timeout);
    uint64_t before = client->answer;
    bool in_time = true;
    while (client->answer == before && !atomic_load(&client->closing) && in_time) {
        in_time = ace_condition_wait_until(&client->answered, &client->mutex, deadline);
    }
    if (client->answer != before) {
        return ACE_OK;
    }
    return atomic_load(&client->closing)
               ? ace_fail(error, ACE_CLOSED, "the connection was closed before credentials came")
               : ace_fail(error, ACE_LOGIN_REFUSED, "nobody gave credentials in time");
}

static ace_code ask_by_event(ace_client *client, ace_events *events, ace_credentials *credentials,
                             ace_error **error)
{
    ace_code code = ACE_OK;
    ace_mutex_lock(&client->mutex);
    if (events != NULL) {
        /* Both links may ask at once: one answer is for both. */
        if (client->asking++ == 0) {
            ace_events_put(events, &(ace_event){.kind = ACE_EVENT_CREDENTIALS, .source = ""});
        }
        code = await_answer(client, error);
        client->asking -= code == ACE_OK ? 0 : 1;
    }
    if (code == ACE_OK) {
        code = hand_over(client->name, client->password, credentials, error);
    }
    ace_mutex_unlock(&client->mutex);
    return code;
}

static ace_code ask(ace_credentials *credentials, void *user, ace_error **error)
{
    ace_client *client = user;
    /* A close does not wait for the answer for ever. */
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    ace_code code = client->credentials_callback != NULL
                        ? ask_callback(client, credentials, error)
                        : ask_by_event(client, atomic_load(&client->events), credentials, error);
    ace_client_release(client);
    return code;
}

ace_code ace_client_answer(ace_client *client, const char *name, const char *password,
                           ace_error **error)
{
    ace_credentials given = {NULL, NULL};
    ace_code code = hand_over(name, password, &given, error);
    if (code != ACE_OK) {
        ace_credentials_free(&given);
        return code;
    }
    ace_mutex_lock(&client->mutex);
    if (client->asking == 0) {
        code = ace_fail(error, ACE_STATE, "nothing waits for credentials");
    } else {
        wipe(client->name);
        wipe(client->password);
        client->name = given.user;
        client->password = given.password;
        given = (ace_credentials){NULL, NULL};
        client->answer++;
        client->asking = 0; /* who asks from here on, before these wake, is told of anew */
        ace_condition_broadcast(&client->answered);
    }
    ace_mutex_unlock(&client->mutex);
    ace_credentials_free(&given);
    return code;
}

void ace_client_set_closing(ace_client *client, bool closing)
{
    ace_mutex_lock(&client->mutex);
    atomic_store(&client->closing, closing);
    ace_condition_broadcast(&client->answered);
    ace_mutex_unlock(&client->mutex);
}

static bool is_wanted(const ace_client *client, acemq_event_kind kind)
{
    return (client->wanted & UINT64_C(1) << kind) != 0;
}

static void write_log(ace_log_level level, const char *line, void *user)
{
    ace_client *client = user;
    if (client->log_callback != NULL) {
        client->log_callback((acemq_log_level)level, line, client->log_user);
    }
    ace_events *events = atomic_load(&client->events);
    if (events != NULL && is_wanted(client, ACEMQ_EVENT_LOG)) {
        char *text = strdup(line);
        ace_events_put(
            events,
            &(ace_event){
                .kind = ACE_EVENT_LOG, .level = level, .wait = -1, .source = "", .text = text});
        free(text);
    }
}

/* Two links make one connection: what changes nothing for it is not told, but a new wait is. */
static bool judge_state(ace_client *client, ace_event *event)
{
    switch (event->kind) {
    case ACE_EVENT_BLOCKED:
        client->blocked = true;
        break;
    case ACE_EVENT_UNBLOCKED:
        client->blocked = false;
        break;
    default:
        if (strcmp(event->source, "publishing") == 0) {
            client->publishing = (ace_link_state)event->state;
        } else {
            client->consuming = (ace_link_state)event->state;
        }
        break;
    }
    acemq_connection_state now =
        ace_state_of_links(client->publishing, client->consuming, client->blocked);
    if (!client->opened) {
        client->opened = now == ACEMQ_CONNECTION_OPEN;
        return false;
    }
    if (atomic_load(&client->closing)) {
        /* On the way to its end it is neither coming back nor lost. */
        now = now == ACEMQ_CONNECTION_FAILED ? ACEMQ_CONNECTION_CLOSED : client->told;
    }
    bool waits = event->kind == ACE_EVENT_STATE && event->wait >= 0;
    bool is_news = now != client->told || (now == ACEMQ_CONNECTION_RECONNECTING && waits);
    client->told = now;
    event->kind = ACE_EVENT_STATE;
    event->state = (int)now;
    if (!waits) {
        event->wait = -1;
    }
    return is_news && is_wanted(client, ACEMQ_EVENT_CONNECTION);
}

static bool judge(ace_event *event, void *user)
{
    ace_client *client = user;
    switch (event->kind) {
    case ACE_EVENT_STATE:
    case ACE_EVENT_BLOCKED:
    case ACE_EVENT_UNBLOCKED:
        return judge_state(client, event);
    case ACE_EVENT_CONFIRM:
        return is_wanted(client, ACEMQ_EVENT_CONFIRM);
    case ACE_EVENT_SETTLE:
        return is_wanted(client, ACEMQ_EVENT_SETTLE_FAILED);
    case ACE_EVENT_CONSUMER:
        return event->state == ACE_CONSUMER_ENDED && is_wanted(client, ACEMQ_EVENT_CONSUMER_ENDED);
    case ACE_EVENT_LOG:
        return is_wanted(client, ACEMQ_EVENT_LOG);
    case ACE_EVENT_CREDENTIALS:
        return is_wanted(client, ACEMQ_EVENT_CREDENTIALS_WANTED);
    case ACE_EVENT_INTERCEPTOR:
        return is_wanted(client, ACEMQ_EVENT_INTERCEPTOR_FAILED);
    case ACE_EVENT_SETTLED:
        return is_wanted(client, ACEMQ_EVENT_SETTLED);
    case ACE_EVENT_METRIC:
        return is_wanted(client, ACEMQ_EVENT_METRIC);
    case ACE_EVENT_ORDER:
        return is_wanted(client, event->state == ACE_ORDER_HALTED ? ACEMQ_EVENT_PARTITION_HALTED
                                                                  : ACEMQ_EVENT_ORDER_GAP);
    default:
        return false;
    }
}

ace_code ace_client_prepare(ace_client *client, const acemq_connect_options *options,
                            const ace_url *url, ace_settings *settings, ace_error **error)
{
    if (options->log_level != ACEMQ_LOG_NONE &&
        (client->log_callback != NULL || is_wanted(client, ACEMQ_EVENT_LOG))) {
        settings->log = (ace_log){write_log, client, (ace_log_level)options->log_level};
    }
    if (settings->credentials != ACE_CREDENTIALS_ON_DEMAND) {
        return ACE_OK;
    }
    settings->ask = ask;
    settings->ask_user = client;
    ace_credentials first = {NULL, NULL};
    ace_code code = hand_over(url->user, url->password, &first, error);
    if (code != ACE_OK) {
        ace_credentials_free(&first);
        return code;
    }
    client->name = first.user;
    client->password = first.password;
    return ACE_OK;
}

void ace_client_adopt(ace_client *client, ace_connection *connection)
{
    connection->attachment = client;
    connection->attachment_release = ace_client_release;
    ace_events_judge_by(connection->events, judge, client);
    atomic_store(&client->events, connection->events);
    atomic_store(&connection->tells_settled, is_wanted(client, ACEMQ_EVENT_SETTLED));
}

ace_client *ace_client_of(const ace_connection *connection)
{
    return connection->attachment;
}

ace_cancel *ace_client_cancel(const ace_connection *connection, ace_cancel *given)
{
    return given != NULL ? given : ace_client_of(connection)->cancel;
}

ace_code ace_cancel_check(const ace_cancel *cancel, ace_error **error)
{
    return ace_cancel_fired(cancel)
               ? ace_fail(error, ACE_CANCELLED, "the cancel token has fired; nothing was begun")
               : ACE_OK;
}

ace_code ace_connection_check(const ace_connection *connection, ace_error **error)
{
    if (connection == NULL) {
        return ace_argument_present(NULL, "connection", error);
    }
    return ace_handle_check(&connection->handle, ACE_CONNECTION_MAGIC, "connection", error);
}

ace_code ace_connection_check_known(const ace_connection *connection, ace_error **error)
{
    ace_code code = ace_argument_present(connection, "connection", error);
    return code == ACE_OK ? ace_handle_check_open_or_closed(
                                &connection->handle, ACE_CONNECTION_MAGIC, "connection", error)
                          : code;
}
