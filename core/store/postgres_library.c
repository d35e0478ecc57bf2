#include "store/postgres_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"PQconnectStartParams", offsetof(ace_postgres_library, connect_start)},
    {"PQconnectPoll", offsetof(ace_postgres_library, connect_poll)},
    {"PQstatus", offsetof(ace_postgres_library, status)},
    {"PQtransactionStatus", offsetof(ace_postgres_library, transaction_status)},
    {"PQparameterStatus", offsetof(ace_postgres_library, parameter_status)},
    {"PQerrorMessage", offsetof(ace_postgres_library, error_message)},
    {"PQsocket", offsetof(ace_postgres_library, socket)},
    {"PQfinish", offsetof(ace_postgres_library, finish)},
    {"PQsetnonblocking", offsetof(ace_postgres_library, set_nonblocking)},
    {"PQsendQueryParams", offsetof(ace_postgres_library, send_query)},
    {"PQexecParams", offsetof(ace_postgres_library, query)},
    {"PQflush", offsetof(ace_postgres_library, flush)},
    {"PQconsumeInput", offsetof(ace_postgres_library, consume_input)},
    {"PQisBusy", offsetof(ace_postgres_library, is_busy)},
    {"PQgetResult", offsetof(ace_postgres_library, get_result)},
    {"PQresultStatus", offsetof(ace_postgres_library, result_status)},
    {"PQresultErrorField", offsetof(ace_postgres_library, result_error_field)},
    {"PQcmdTuples", offsetof(ace_postgres_library, affected)},
    {"PQntuples", offsetof(ace_postgres_library, rows)},
    {"PQnfields", offsetof(ace_postgres_library, columns)},
    {"PQgetvalue", offsetof(ace_postgres_library, value)},
    {"PQgetisnull", offsetof(ace_postgres_library, value_is_null)},
    {"PQclear", offsetof(ace_postgres_library, clear)},
    {"PQconninfoParse", offsetof(ace_postgres_library, parse)},
    {"PQconninfoFree", offsetof(ace_postgres_library, parse_free)},
    {"PQfreemem", offsetof(ace_postgres_library, free_memory)},
    {"PQsetNoticeProcessor", offsetof(ace_postgres_library, set_notice_processor)},
};

static ace_postgres_library library;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static const char *missing = "libpq.so.5 is not installed";

/* It stays until the process ends: a store may be opened again. */
static void load(void)
{
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (found == NULL) {
            missing = functions[i].name;
            (void)dlclose(handle);
            return;
        }
        memcpy((char *)&library + functions[i].offset, &found, sizeof found);
    }
    is_loaded = true;
}

const ace_postgres_library *ace_postgres_library_get(ace_error **error)
{
    (void)pthread_once(&once, load);
    if (!is_loaded) {
        (void)ace_fail(error, ACE_UNSUPPORTED, "no PostgreSQL without its client library: %s",
                       missing);
        return NULL;
    }
    return &library;
}

bool ace_postgres_library_present(void)
{
    (void)pthread_once(&once, load);
    return is_loaded;
}
