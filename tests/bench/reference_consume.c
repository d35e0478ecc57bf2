#include "reference.h"

#include <stdlib.h>

static void subscribe(amqp_connection_state_t connection, const bench_options *options)
{
    (void)amqp_basic_qos(connection, REFERENCE_CHANNEL, 0, (uint16_t)options->prefetch, 0);
    reference_check_reply(connection, "basic.qos");
    (void)amqp_basic_consume(connection, REFERENCE_CHANNEL, amqp_cstring_bytes(options->queue),
                             amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    reference_check_reply(connection, "basic.consume");
}

static void receive(amqp_connection_state_t connection, amqp_envelope_t *envelope)
{
    amqp_maybe_release_buffers(connection);
    amqp_rpc_reply_t reply = amqp_consume_message(connection, envelope, NULL, 0);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
        bench_fail("waiting for a message: %s", amqp_error_string2(reply.library_error));
    }
}

static void acknowledge(amqp_connection_state_t connection, const amqp_envelope_t *envelope)
{
    reference_check(amqp_basic_ack(connection, REFERENCE_CHANNEL, envelope->delivery_tag, 0),
                    "basic.ack");
}

/* Each message acknowledged by itself. The clock stops when the broker has answered the goodbye,
 * which comes after the last acknowledgement. */
void reference_consume(const bench_options *options)
{
    amqp_connection_state_t connection = reference_connect(options);
    bench_span span = {0, 0};
    subscribe(connection, options);
    for (long i = 0; i < options->count; i++) {
        amqp_envelope_t envelope;
        receive(connection, &envelope);
        if (i == 0) {
            span = bench_begin();
        }
        acknowledge(connection, &envelope);
        amqp_destroy_envelope(&envelope);
    }
    (void)amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    bench_report_span(&span, options->count);
    reference_check(amqp_destroy_connection(connection), "close");
}

/* Two connections and one thread: nothing is handed from one to the other. */
void reference_latency(const bench_options *options)
{
    amqp_connection_state_t publishing = reference_connect(options);
    amqp_connection_state_t consuming = reference_connect(options);
    unsigned char *body = bench_body((size_t)options->size);
    int64_t *times = calloc((size_t)options->count, sizeof *times);
    if (times == NULL) {
        bench_fail("no memory for %ld times", options->count);
    }
    reference_select_confirms(publishing);
    subscribe(consuming, options);
    for (long i = -BENCH_WARM_UP; i < options->count; i++) {
        amqp_envelope_t envelope;
        int64_t left = bench_now();
        reference_send(publishing, options, body);
        receive(consuming, &envelope);
        if (i >= 0) {
            times[i] = bench_now() - left;
        }
        acknowledge(consuming, &envelope);
        amqp_destroy_envelope(&envelope);
        reference_take_confirm(publishing);
    }
    bench_report_times(times, options->count);
    free(times);
    free(body);
    reference_disconnect(publishing);
    reference_disconnect(consuming);
}

void reference_waiting(const bench_options *options)
{
    amqp_connection_state_t connection = reference_connect(options);
    amqp_envelope_t *kept = calloc((size_t)options->count, sizeof *kept);
    if (kept == NULL) {
        bench_fail("no memory for %ld messages", options->count);
    }
    bench_footprint before = bench_footprint_now();
    subscribe(connection, options);
    for (long i = 0; i < options->count; i++) {
        receive(connection, &kept[i]);
    }
    bench_report_footprint(&before, &before, options->count);
    for (long i = 0; i < options->count; i++) {
        amqp_destroy_envelope(&kept[i]);
    }
    free(kept);
    reference_disconnect(connection);
}
