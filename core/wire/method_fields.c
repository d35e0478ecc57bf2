#include "wire/method_fields.h"

static const ace_method_field connection_start_fields[] = {
    {ACE_FIELD_OCTET, offsetof(amqp_connection_start_t, version_major), "version major"},
    {ACE_FIELD_OCTET, offsetof(amqp_connection_start_t, version_minor), "version minor"},
    {ACE_FIELD_TABLE, offsetof(amqp_connection_start_t, server_properties), "server properties"},
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_connection_start_t, mechanisms), "mechanisms"},
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_connection_start_t, locales), "locales"},
};

static const ace_method_field connection_start_ok_fields[] = {
    {ACE_FIELD_TABLE, offsetof(amqp_connection_start_ok_t, client_properties), "client properties"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_start_ok_t, mechanism), "mechanism"},
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_connection_start_ok_t, response), "response"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_start_ok_t, locale), "locale"},
};

static const ace_method_field connection_secure_fields[] = {
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_connection_secure_t, challenge), "challenge"},
};

static const ace_method_field connection_secure_ok_fields[] = {
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_connection_secure_ok_t, response), "response"},
};

static const ace_method_field connection_tune_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_connection_tune_t, channel_max), "channel max"},
    {ACE_FIELD_LONG, offsetof(amqp_connection_tune_t, frame_max), "frame max"},
    {ACE_FIELD_SHORT, offsetof(amqp_connection_tune_t, heartbeat), "heartbeat"},
};

static const ace_method_field connection_tune_ok_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_connection_tune_ok_t, channel_max), "channel max"},
    {ACE_FIELD_LONG, offsetof(amqp_connection_tune_ok_t, frame_max), "frame max"},
    {ACE_FIELD_SHORT, offsetof(amqp_connection_tune_ok_t, heartbeat), "heartbeat"},
};

static const ace_method_field connection_open_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_open_t, virtual_host), "virtual host"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_open_t, capabilities), "capabilities"},
    {ACE_FIELD_BIT, offsetof(amqp_connection_open_t, insist), "insist"},
};

static const ace_method_field connection_open_ok_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_open_ok_t, known_hosts), "known hosts"},
};

static const ace_method_field connection_close_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_connection_close_t, reply_code), "reply code"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_close_t, reply_text), "reply text"},
    {ACE_FIELD_SHORT, offsetof(amqp_connection_close_t, class_id), "class id"},
    {ACE_FIELD_SHORT, offsetof(amqp_connection_close_t, method_id), "method id"},
};

static const ace_method_field connection_blocked_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_connection_blocked_t, reason), "reason"},
};

static const ace_method_field channel_open_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_channel_open_t, out_of_band), "out of band"},
};

static const ace_method_field channel_open_ok_fields[] = {
    {ACE_FIELD_LONG_TEXT, offsetof(amqp_channel_open_ok_t, channel_id), "channel id"},
};

static const ace_method_field channel_flow_fields[] = {
    {ACE_FIELD_BIT, offsetof(amqp_channel_flow_t, active), "active"},
};

static const ace_method_field channel_flow_ok_fields[] = {
    {ACE_FIELD_BIT, offsetof(amqp_channel_flow_ok_t, active), "active"},
};

static const ace_method_field channel_close_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_channel_close_t, reply_code), "reply code"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_channel_close_t, reply_text), "reply text"},
    {ACE_FIELD_SHORT, offsetof(amqp_channel_close_t, class_id), "class id"},
    {ACE_FIELD_SHORT, offsetof(amqp_channel_close_t, method_id), "method id"},
};

static const ace_method_field exchange_declare_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_exchange_declare_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_declare_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_declare_t, type), "exchange type"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_declare_t, passive), "passive"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_declare_t, durable), "durable"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_declare_t, auto_delete), "auto delete"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_declare_t, internal), "internal"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_declare_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_exchange_declare_t, arguments), "arguments"},
};

static const ace_method_field exchange_delete_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_exchange_delete_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_delete_t, exchange), "exchange name"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_delete_t, if_unused), "if unused"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_delete_t, nowait), "nowait"},
};

static const ace_method_field exchange_bind_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_exchange_bind_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_bind_t, destination), "destination name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_bind_t, source), "source name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_bind_t, routing_key), "routing key"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_bind_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_exchange_bind_t, arguments), "arguments"},
};

static const ace_method_field exchange_unbind_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_exchange_unbind_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_unbind_t, destination), "destination name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_unbind_t, source), "source name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_exchange_unbind_t, routing_key), "routing key"},
    {ACE_FIELD_BIT, offsetof(amqp_exchange_unbind_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_exchange_unbind_t, arguments), "arguments"},
};

static const ace_method_field queue_declare_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_queue_declare_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_declare_t, queue), "queue name"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_declare_t, passive), "passive"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_declare_t, durable), "durable"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_declare_t, exclusive), "exclusive"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_declare_t, auto_delete), "auto delete"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_declare_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_queue_declare_t, arguments), "arguments"},
};

static const ace_method_field queue_declare_ok_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_declare_ok_t, queue), "queue name"},
    {ACE_FIELD_LONG, offsetof(amqp_queue_declare_ok_t, message_count), "message count"},
    {ACE_FIELD_LONG, offsetof(amqp_queue_declare_ok_t, consumer_count), "consumer count"},
};

static const ace_method_field queue_bind_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_queue_bind_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_bind_t, queue), "queue name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_bind_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_bind_t, routing_key), "routing key"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_bind_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_queue_bind_t, arguments), "arguments"},
};

static const ace_method_field queue_purge_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_queue_purge_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_purge_t, queue), "queue name"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_purge_t, nowait), "nowait"},
};

static const ace_method_field queue_purge_ok_fields[] = {
    {ACE_FIELD_LONG, offsetof(amqp_queue_purge_ok_t, message_count), "message count"},
};

static const ace_method_field queue_delete_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_queue_delete_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_delete_t, queue), "queue name"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_delete_t, if_unused), "if unused"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_delete_t, if_empty), "if empty"},
    {ACE_FIELD_BIT, offsetof(amqp_queue_delete_t, nowait), "nowait"},
};

static const ace_method_field queue_delete_ok_fields[] = {
    {ACE_FIELD_LONG, offsetof(amqp_queue_delete_ok_t, message_count), "message count"},
};

static const ace_method_field queue_unbind_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_queue_unbind_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_unbind_t, queue), "queue name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_unbind_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_queue_unbind_t, routing_key), "routing key"},
    {ACE_FIELD_TABLE, offsetof(amqp_queue_unbind_t, arguments), "arguments"},
};

static const ace_method_field basic_qos_fields[] = {
    {ACE_FIELD_LONG, offsetof(amqp_basic_qos_t, prefetch_size), "prefetch size"},
    {ACE_FIELD_SHORT, offsetof(amqp_basic_qos_t, prefetch_count), "prefetch count"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_qos_t, global), "global"},
};

static const ace_method_field basic_consume_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_basic_consume_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_consume_t, queue), "queue name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_consume_t, consumer_tag), "consumer tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_consume_t, no_local), "no local"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_consume_t, no_ack), "no ack"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_consume_t, exclusive), "exclusive"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_consume_t, nowait), "nowait"},
    {ACE_FIELD_TABLE, offsetof(amqp_basic_consume_t, arguments), "arguments"},
};

static const ace_method_field basic_consume_ok_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_consume_ok_t, consumer_tag), "consumer tag"},
};

static const ace_method_field basic_cancel_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_cancel_t, consumer_tag), "consumer tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_cancel_t, nowait), "nowait"},
};

static const ace_method_field basic_cancel_ok_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_cancel_ok_t, consumer_tag), "consumer tag"},
};

static const ace_method_field basic_publish_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_basic_publish_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_publish_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_publish_t, routing_key), "routing key"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_publish_t, mandatory), "mandatory"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_publish_t, immediate), "immediate"},
};

static const ace_method_field basic_return_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_basic_return_t, reply_code), "reply code"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_return_t, reply_text), "reply text"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_return_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_return_t, routing_key), "routing key"},
};

static const ace_method_field basic_deliver_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_deliver_t, consumer_tag), "consumer tag"},
    {ACE_FIELD_LONG_LONG, offsetof(amqp_basic_deliver_t, delivery_tag), "delivery tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_deliver_t, redelivered), "redelivered"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_deliver_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_deliver_t, routing_key), "routing key"},
};

static const ace_method_field basic_get_fields[] = {
    {ACE_FIELD_SHORT, offsetof(amqp_basic_get_t, ticket), "ticket"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_get_t, queue), "queue name"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_get_t, no_ack), "no ack"},
};

static const ace_method_field basic_get_ok_fields[] = {
    {ACE_FIELD_LONG_LONG, offsetof(amqp_basic_get_ok_t, delivery_tag), "delivery tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_get_ok_t, redelivered), "redelivered"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_get_ok_t, exchange), "exchange name"},
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_get_ok_t, routing_key), "routing key"},
    {ACE_FIELD_LONG, offsetof(amqp_basic_get_ok_t, message_count), "message count"},
};

static const ace_method_field basic_get_empty_fields[] = {
    {ACE_FIELD_SHORT_TEXT, offsetof(amqp_basic_get_empty_t, cluster_id), "cluster id"},
};

static const ace_method_field basic_ack_fields[] = {
    {ACE_FIELD_LONG_LONG, offsetof(amqp_basic_ack_t, delivery_tag), "delivery tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_ack_t, multiple), "multiple"},
};

static const ace_method_field basic_reject_fields[] = {
    {ACE_FIELD_LONG_LONG, offsetof(amqp_basic_reject_t, delivery_tag), "delivery tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_reject_t, requeue), "requeue"},
};

static const ace_method_field basic_recover_async_fields[] = {
    {ACE_FIELD_BIT, offsetof(amqp_basic_recover_async_t, requeue), "requeue"},
};

static const ace_method_field basic_recover_fields[] = {
    {ACE_FIELD_BIT, offsetof(amqp_basic_recover_t, requeue), "requeue"},
};

static const ace_method_field basic_nack_fields[] = {
    {ACE_FIELD_LONG_LONG, offsetof(amqp_basic_nack_t, delivery_tag), "delivery tag"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_nack_t, multiple), "multiple"},
    {ACE_FIELD_BIT, offsetof(amqp_basic_nack_t, requeue), "requeue"},
};

static const ace_method_field confirm_select_fields[] = {
    {ACE_FIELD_BIT, offsetof(amqp_confirm_select_t, nowait), "nowait"},
};

#define EMPTY(id, name, subject)                                                                   \
    {                                                                                              \
        id, name, sizeof(amqp_##subject##_t), 0, NULL                                              \
    }
#define FIELDS(id, name, subject)                                                                  \
    {                                                                                              \
        id, name, sizeof(amqp_##subject##_t),                                                      \
            (int)(sizeof subject##_fields / sizeof subject##_fields[0]), subject##_fields          \
    }

static const ace_method_layout layouts[] = {
    FIELDS(AMQP_CONNECTION_START_METHOD, "connection.start", connection_start),
    FIELDS(AMQP_CONNECTION_START_OK_METHOD, "connection.start-ok", connection_start_ok),
    FIELDS(AMQP_CONNECTION_SECURE_METHOD, "connection.secure", connection_secure),
    FIELDS(AMQP_CONNECTION_SECURE_OK_METHOD, "connection.secure-ok", connection_secure_ok),
    FIELDS(AMQP_CONNECTION_TUNE_METHOD, "connection.tune", connection_tune),
    FIELDS(AMQP_CONNECTION_TUNE_OK_METHOD, "connection.tune-ok", connection_tune_ok),
    FIELDS(AMQP_CONNECTION_OPEN_METHOD, "connection.open", connection_open),
    FIELDS(AMQP_CONNECTION_OPEN_OK_METHOD, "connection.open-ok", connection_open_ok),
    FIELDS(AMQP_CONNECTION_CLOSE_METHOD, "connection.close", connection_close),
    EMPTY(AMQP_CONNECTION_CLOSE_OK_METHOD, "connection.close-ok", connection_close_ok),
    FIELDS(AMQP_CONNECTION_BLOCKED_METHOD, "connection.blocked", connection_blocked),
    EMPTY(AMQP_CONNECTION_UNBLOCKED_METHOD, "connection.unblocked", connection_unblocked),
    FIELDS(AMQP_CHANNEL_OPEN_METHOD, "channel.open", channel_open),
    FIELDS(AMQP_CHANNEL_OPEN_OK_METHOD, "channel.open-ok", channel_open_ok),
    FIELDS(AMQP_CHANNEL_FLOW_METHOD, "channel.flow", channel_flow),
    FIELDS(AMQP_CHANNEL_FLOW_OK_METHOD, "channel.flow-ok", channel_flow_ok),
    FIELDS(AMQP_CHANNEL_CLOSE_METHOD, "channel.close", channel_close),
    EMPTY(AMQP_CHANNEL_CLOSE_OK_METHOD, "channel.close-ok", channel_close_ok),
    FIELDS(AMQP_EXCHANGE_DECLARE_METHOD, "exchange.declare", exchange_declare),
    EMPTY(AMQP_EXCHANGE_DECLARE_OK_METHOD, "exchange.declare-ok", exchange_declare_ok),
    FIELDS(AMQP_EXCHANGE_DELETE_METHOD, "exchange.delete", exchange_delete),
    EMPTY(AMQP_EXCHANGE_DELETE_OK_METHOD, "exchange.delete-ok", exchange_delete_ok),
    FIELDS(AMQP_EXCHANGE_BIND_METHOD, "exchange.bind", exchange_bind),
    EMPTY(AMQP_EXCHANGE_BIND_OK_METHOD, "exchange.bind-ok", exchange_bind_ok),
    FIELDS(AMQP_EXCHANGE_UNBIND_METHOD, "exchange.unbind", exchange_unbind),
    EMPTY(AMQP_EXCHANGE_UNBIND_OK_METHOD, "exchange.unbind-ok", exchange_unbind_ok),
    FIELDS(AMQP_QUEUE_DECLARE_METHOD, "queue.declare", queue_declare),
    FIELDS(AMQP_QUEUE_DECLARE_OK_METHOD, "queue.declare-ok", queue_declare_ok),
    FIELDS(AMQP_QUEUE_BIND_METHOD, "queue.bind", queue_bind),
    EMPTY(AMQP_QUEUE_BIND_OK_METHOD, "queue.bind-ok", queue_bind_ok),
    FIELDS(AMQP_QUEUE_PURGE_METHOD, "queue.purge", queue_purge),
    FIELDS(AMQP_QUEUE_PURGE_OK_METHOD, "queue.purge-ok", queue_purge_ok),
    FIELDS(AMQP_QUEUE_DELETE_METHOD, "queue.delete", queue_delete),
    FIELDS(AMQP_QUEUE_DELETE_OK_METHOD, "queue.delete-ok", queue_delete_ok),
    FIELDS(AMQP_QUEUE_UNBIND_METHOD, "queue.unbind", queue_unbind),
    EMPTY(AMQP_QUEUE_UNBIND_OK_METHOD, "queue.unbind-ok", queue_unbind_ok),
    FIELDS(AMQP_BASIC_QOS_METHOD, "basic.qos", basic_qos),
    EMPTY(AMQP_BASIC_QOS_OK_METHOD, "basic.qos-ok", basic_qos_ok),
    FIELDS(AMQP_BASIC_CONSUME_METHOD, "basic.consume", basic_consume),
    FIELDS(AMQP_BASIC_CONSUME_OK_METHOD, "basic.consume-ok", basic_consume_ok),
    FIELDS(AMQP_BASIC_CANCEL_METHOD, "basic.cancel", basic_cancel),
    FIELDS(AMQP_BASIC_CANCEL_OK_METHOD, "basic.cancel-ok", basic_cancel_ok),
    FIELDS(AMQP_BASIC_PUBLISH_METHOD, "basic.publish", basic_publish),
    FIELDS(AMQP_BASIC_RETURN_METHOD, "basic.return", basic_return),
    FIELDS(AMQP_BASIC_DELIVER_METHOD, "basic.deliver", basic_deliver),
    FIELDS(AMQP_BASIC_GET_METHOD, "basic.get", basic_get),
    FIELDS(AMQP_BASIC_GET_OK_METHOD, "basic.get-ok", basic_get_ok),
    FIELDS(AMQP_BASIC_GET_EMPTY_METHOD, "basic.get-empty", basic_get_empty),
    FIELDS(AMQP_BASIC_ACK_METHOD, "basic.ack", basic_ack),
    FIELDS(AMQP_BASIC_REJECT_METHOD, "basic.reject", basic_reject),
    FIELDS(AMQP_BASIC_RECOVER_ASYNC_METHOD, "basic.recover-async", basic_recover_async),
    FIELDS(AMQP_BASIC_RECOVER_METHOD, "basic.recover", basic_recover),
    EMPTY(AMQP_BASIC_RECOVER_OK_METHOD, "basic.recover-ok", basic_recover_ok),
    FIELDS(AMQP_BASIC_NACK_METHOD, "basic.nack", basic_nack),
    FIELDS(AMQP_CONFIRM_SELECT_METHOD, "confirm.select", confirm_select),
    EMPTY(AMQP_CONFIRM_SELECT_OK_METHOD, "confirm.select-ok", confirm_select_ok),
    EMPTY(AMQP_TX_SELECT_METHOD, "tx.select", tx_select),
    EMPTY(AMQP_TX_SELECT_OK_METHOD, "tx.select-ok", tx_select_ok),
    EMPTY(AMQP_TX_COMMIT_METHOD, "tx.commit", tx_commit),
    EMPTY(AMQP_TX_COMMIT_OK_METHOD, "tx.commit-ok", tx_commit_ok),
    EMPTY(AMQP_TX_ROLLBACK_METHOD, "tx.rollback", tx_rollback),
    EMPTY(AMQP_TX_ROLLBACK_OK_METHOD, "tx.rollback-ok", tx_rollback_ok),
};

#define LAYOUT_COUNT (sizeof layouts / sizeof layouts[0])

const ace_method_layout *ace_method_layouts(size_t *count)
{
    *count = LAYOUT_COUNT;
    return layouts;
}

const ace_method_layout *ace_method_layout_of(amqp_method_number_t id)
{
    size_t low = 0;
    size_t high = LAYOUT_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (layouts[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < LAYOUT_COUNT && layouts[low].id == id ? &layouts[low] : NULL;
}
