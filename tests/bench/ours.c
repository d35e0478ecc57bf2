#include "ours.h"

#include <stdio.h>
#include <string.h>

void ours_check(acemq_status status, acemq_error *const *error)
{
    if (status != ACEMQ_OK) {
        bench_fail("%s", acemq_error_message(*error));
    }
}

acemq_connection *ours_connect(const bench_options *options, long outstanding)
{
    acemq_connect_options how = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_connection *connection = NULL;
    acemq_error *error = NULL;
    how.outstanding = outstanding;
    ours_check(acemq_connect(options->url, &how, &connection, &error), &error);
    return connection;
}

acemq_publisher *ours_publisher(acemq_connection *connection, const bench_options *options)
{
    acemq_publisher_options how = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_publisher *publisher = NULL;
    acemq_error *error = NULL;
    how.routing_key = options->queue;
    ours_check(acemq_publisher_new(connection, &how, &publisher, &error), &error);
    return publisher;
}

void ours_disconnect(acemq_connection *connection)
{
    acemq_error *error = NULL;
    ours_check(acemq_connection_close(connection, 5 * ACEMQ_MINUTE, &error), &error);
    acemq_connection_free(connection);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(const bench_options *options);
    } all[] = {
        {"fill", ours_fill},       {"publish", ours_publish}, {"consume", ours_consume},
        {"latency", ours_latency}, {"waiting", ours_waiting}, {"consumers", ours_consumers},
        {"claims", ours_claims},
    };
    bench_options options = bench_read_options(count, arguments);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, options.what) == 0) {
            all[i].run(&options);
            return 0;
        }
    }
    (void)fprintf(stderr, "%s is not known\n", options.what);
    return 2;
}
