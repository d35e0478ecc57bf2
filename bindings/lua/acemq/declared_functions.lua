--- The functions of the public headers that are called here.
-- bindings/lua/tests/declarations compares them with abi/include/acemq.
return [[
acemq_status acemq_error_code(const acemq_error *error);
const char *acemq_error_name(const acemq_error *error);
const char *acemq_error_message(const acemq_error *error);
const char *acemq_error_field(const acemq_error *error);
int64_t acemq_error_limit(const acemq_error *error);
int acemq_error_reply_code(const acemq_error *error);
int acemq_error_is_retriable(const acemq_error *error);
int acemq_error_is_fatal(const acemq_error *error);
void acemq_error_free(acemq_error *error);
const char *acemq_status_name(acemq_status status);
acemq_status acemq_broker_start(acemq_broker **broker, acemq_error **error);
acemq_status acemq_broker_listen(acemq_broker *broker, const char *host, int port, int *bound, acemq_error **error);
void acemq_broker_free(acemq_broker *broker);
acemq_status acemq_cancel_new(acemq_cancel **cancel, acemq_error **error);
void acemq_cancel_fire(acemq_cancel *cancel);
void acemq_cancel_reset(acemq_cancel *cancel);
void acemq_cancel_free(acemq_cancel *cancel);
const acemq_codec *acemq_codec_builtin(const char *name);
void acemq_codec_free(acemq_codec *codec);
acemq_status acemq_codec_check(const acemq_codec *codec, acemq_bytes body, const char *content_type, acemq_error
    **error);
const char *acemq_codec_content_type(const acemq_codec *codec);
acemq_status acemq_codec_encode(const acemq_codec *codec, acemq_bytes payload, void **body, size_t *length,
    acemq_error **error);
acemq_status acemq_codec_decode(const acemq_codec *codec, acemq_bytes body, const char *content_type, void **payload,
    size_t *length, acemq_error **error);
acemq_status acemq_claim_directory_options_init(acemq_claim_directory_options *options, size_t size);
acemq_status acemq_claim_store_directory(const char *path, const acemq_claim_directory_options *options,
    acemq_claim_store **store, acemq_error **error);
void acemq_claim_store_free(acemq_claim_store *store);
acemq_status acemq_claim_store_remove(acemq_claim_store *store, const char *key, acemq_error **error);
acemq_status acemq_codec_claim_check(const acemq_codec *inner, acemq_claim_store *store, int64_t threshold,
    acemq_codec **codec, acemq_error **error);
const char *acemq_observation_name(const acemq_observation *observation);
acemq_metric_kind acemq_observation_kind(const acemq_observation *observation);
double acemq_observation_value(const acemq_observation *observation);
size_t acemq_observation_label_count(const acemq_observation *observation);
const char *acemq_observation_label(const acemq_observation *observation, size_t index);
const char *acemq_observation_label_value(const acemq_observation *observation, size_t index);
acemq_status acemq_metrics_options_init(acemq_metrics_options *options, size_t size);
acemq_status acemq_metrics_new(const acemq_metrics_options *options, acemq_metrics **metrics, acemq_error **error);
void acemq_metrics_free(acemq_metrics *metrics);
acemq_status acemq_metrics_watch(acemq_metrics *metrics, struct acemq_connection *connection, acemq_error **error);
acemq_status acemq_metrics_prometheus(acemq_metrics *metrics, char **text, acemq_error **error);
const char *acemq_settlement_queue(const acemq_settlement *settlement);
const char *acemq_settlement_exchange(const acemq_settlement *settlement);
const char *acemq_settlement_routing_key(const acemq_settlement *settlement);
const char *acemq_settlement_id(const acemq_settlement *settlement);
const char *acemq_settlement_type(const acemq_settlement *settlement);
const char *acemq_settlement_correlation(const acemq_settlement *settlement);
const char *acemq_settlement_outcome(const acemq_settlement *settlement);
int32_t acemq_settlement_attempt(const acemq_settlement *settlement);
const char *acemq_settlement_traceparent(const acemq_settlement *settlement);
const char *acemq_settlement_tracestate(const acemq_settlement *settlement);
int64_t acemq_settlement_microseconds(const acemq_settlement *settlement);
acemq_event_kind acemq_event_get_kind(const acemq_event *event);
int64_t acemq_event_number(const acemq_event *event);
const char *acemq_event_text(const acemq_event *event);
const acemq_error *acemq_event_error(const acemq_event *event);
int64_t acemq_event_next_try(const acemq_event *event);
const acemq_settlement *acemq_event_settlement(const acemq_event *event);
const acemq_observation *acemq_event_observation(const acemq_event *event);
void acemq_event_free(acemq_event *event);
size_t acemq_work_count(const acemq_work *work);
const char *acemq_work_queue(const acemq_work *work, size_t index);
const char *acemq_work_id(const acemq_work *work, size_t index);
int64_t acemq_work_running(const acemq_work *work, size_t index);
void acemq_work_free(acemq_work *work);
acemq_status acemq_connect_options_init(acemq_connect_options *options, size_t size);
acemq_status acemq_connect(const char *url, const acemq_connect_options *options, acemq_connection **connection,
    acemq_error **error);
acemq_status acemq_connection_close_naming(acemq_connection *connection, int64_t timeout, acemq_work **left,
    acemq_error **error);
void acemq_connection_free(acemq_connection *connection);
acemq_connection_state acemq_connection_get_state(const acemq_connection *connection, acemq_error **reason);
acemq_status acemq_connection_pause_publishing(acemq_connection *connection, acemq_error **error);
acemq_status acemq_connection_resume_publishing(acemq_connection *connection, acemq_error **error);
int acemq_connection_publishing_paused(const acemq_connection *connection);
acemq_status acemq_connection_next_event(acemq_connection *connection, int64_t timeout, acemq_event **event,
    acemq_error **error);
int acemq_connection_event_fd(const acemq_connection *connection);
acemq_status acemq_connection_give_credentials(acemq_connection *connection, const char *name, const char *password,
    acemq_error **error);
acemq_table *acemq_table_new(void);
void acemq_table_free(acemq_table *table);
acemq_status acemq_table_copy(const acemq_table *table, acemq_table **copy, acemq_error **error);
acemq_status acemq_table_set_string_bytes(acemq_table *table, const char *name, acemq_bytes text, acemq_error
    **error);
acemq_status acemq_table_set_bytes(acemq_table *table, const char *name, acemq_bytes bytes, acemq_error **error);
acemq_status acemq_table_set_integer(acemq_table *table, const char *name, acemq_kind kind, int64_t number,
    acemq_error **error);
acemq_status acemq_table_set_int64(acemq_table *table, const char *name, int64_t number, acemq_error **error);
acemq_status acemq_table_set_bool(acemq_table *table, const char *name, int value, acemq_error **error);
acemq_status acemq_table_set_double(acemq_table *table, const char *name, double number, acemq_error **error);
acemq_status acemq_table_set_float(acemq_table *table, const char *name, float number, acemq_error **error);
acemq_status acemq_table_set_decimal(acemq_table *table, const char *name, uint8_t decimals, uint32_t unscaled,
    acemq_error **error);
acemq_status acemq_table_set_timestamp(acemq_table *table, const char *name, int64_t seconds, acemq_error **error);
acemq_status acemq_table_set_void(acemq_table *table, const char *name, acemq_error **error);
acemq_status acemq_table_set_table(acemq_table *table, const char *name, const acemq_table *inner, acemq_error
    **error);
acemq_status acemq_table_set_array(acemq_table *table, const char *name, const acemq_array *inner, acemq_error
    **error);
acemq_array *acemq_array_new(void);
void acemq_array_free(acemq_array *array);
acemq_status acemq_array_append(acemq_array *array, const acemq_value *value, acemq_error **error);
acemq_status acemq_table_parse_json(const char *json, size_t length, acemq_table **table, acemq_error **error);
acemq_status acemq_table_format_json(const acemq_table *table, int typed, char **json, acemq_error **error);
const acemq_value *acemq_table_get(const acemq_table *table, const char *name);
acemq_status acemq_envelope_read(const acemq_table *headers, const char *routing_key, const char *message_id,
    acemq_envelope **envelope, acemq_error **error);
void acemq_envelope_free(acemq_envelope *envelope);
acemq_status acemq_envelope_write(const acemq_envelope *envelope, acemq_table *headers, acemq_error **error);
acemq_status acemq_envelope_application_headers(const acemq_table *headers, acemq_table **application, acemq_error
    **error);
const char *acemq_envelope_id(const acemq_envelope *envelope);
const char *acemq_envelope_type(const acemq_envelope *envelope);
const char *acemq_envelope_correlation(const acemq_envelope *envelope);
const char *acemq_envelope_causation(const acemq_envelope *envelope);
const char *acemq_envelope_origin(const acemq_envelope *envelope);
const char *acemq_envelope_error(const acemq_envelope *envelope);
const char *acemq_envelope_claim(const acemq_envelope *envelope);
const char *acemq_envelope_replayed_from(const acemq_envelope *envelope);
const char *acemq_envelope_reply_to(const acemq_envelope *envelope);
const char *acemq_envelope_route_id(const acemq_envelope *envelope);
int32_t acemq_envelope_version(const acemq_envelope *envelope);
int32_t acemq_envelope_attempt(const acemq_envelope *envelope);
int32_t acemq_envelope_replay_count(const acemq_envelope *envelope);
int64_t acemq_envelope_first_seen(const acemq_envelope *envelope);
int acemq_envelope_replayed_at(const acemq_envelope *envelope, int64_t *epoch_milliseconds);
size_t acemq_envelope_route_count(const acemq_envelope *envelope);
const char *acemq_envelope_route_step(const acemq_envelope *envelope, size_t index);
int32_t acemq_envelope_route_position(const acemq_envelope *envelope);
acemq_bytes acemq_delivery_body(const acemq_delivery *delivery);
const acemq_table *acemq_delivery_headers(const acemq_delivery *delivery);
const acemq_table *acemq_delivery_all_headers(const acemq_delivery *delivery);
const char *acemq_delivery_property(const acemq_delivery *delivery, acemq_property property);
acemq_status acemq_delivery_pack(acemq_delivery *delivery, acemq_bytes *map, acemq_error **error);
acemq_status acemq_delivery_settle(acemq_delivery *delivery, acemq_outcome outcome, const char *reason, acemq_error
    **error);
acemq_status acemq_delivery_put_back(acemq_delivery *delivery, acemq_error **error);
void acemq_delivery_free(acemq_delivery *delivery);
acemq_status acemq_idempotency_options_init(acemq_idempotency_options *options, size_t size);
acemq_status acemq_idempotency_open(const char *where, const acemq_idempotency_options *options, acemq_idempotency
    **store, acemq_error **error);
void acemq_idempotency_free(acemq_idempotency *store);
acemq_status acemq_idempotency_claim(acemq_idempotency *store, const char *key, int64_t lease, int64_t timeout, char
    token[65], acemq_claim_answer *answer, acemq_error **error);
acemq_status acemq_idempotency_confirm(acemq_idempotency *store, const char *key, const char *token, int64_t timeout,
    acemq_error **error);
acemq_status acemq_idempotency_release(acemq_idempotency *store, const char *key, const char *token, int64_t timeout,
    acemq_error **error);
acemq_status acemq_idempotency_renew(acemq_idempotency *store, const char *key, const char *token, int64_t lease,
    int64_t timeout, acemq_error **error);
acemq_status acemq_idempotency_purge_expired(acemq_idempotency *store, int64_t timeout, uint64_t *purged, acemq_error
    **error);
acemq_status acemq_idempotency_size(acemq_idempotency *store, int64_t timeout, uint64_t *size, acemq_error **error);
acemq_status acemq_idempotency_list(acemq_idempotency *store, const char *after, int64_t most, int64_t timeout,
    acemq_claims **list, acemq_error **error);
size_t acemq_claims_count(const acemq_claims *list);
acemq_status acemq_claims_get(const acemq_claims *list, size_t index, acemq_claim_view *entry, acemq_error **error);
void acemq_claims_free(acemq_claims *list);
acemq_status acemq_schema_postgres(const char *idempotency, const char *outbox, char **text, acemq_error **error);
acemq_policy *acemq_policy_none(void);
acemq_policy *acemq_policy_fixed(int64_t attempts, int64_t wait);
acemq_policy *acemq_policy_exponential(int64_t attempts, int64_t initial, int64_t max);
acemq_status acemq_policy_parse(const char *text, acemq_policy **policy, acemq_error **error);
void acemq_policy_free(acemq_policy *policy);
void acemq_policy_give_up_after(acemq_policy *policy, int64_t age);
void acemq_policy_threshold(acemq_policy *policy, int64_t threshold);
void acemq_policy_jitter(acemq_policy *policy, double factor);
void acemq_policy_multiplier(acemq_policy *policy, double multiplier);
void acemq_policy_whole_second_names(acemq_policy *policy);
void acemq_policy_durable_rungs(acemq_policy *policy);
acemq_status acemq_policy_check(const acemq_policy *policy, acemq_error **error);
acemq_status acemq_policy_format(const acemq_policy *policy, char **text, acemq_error **error);
int64_t acemq_policy_max_attempts(const acemq_policy *policy);
int64_t acemq_policy_max_age(const acemq_policy *policy);
double acemq_policy_jitter_factor(const acemq_policy *policy);
int64_t acemq_policy_broker_threshold(const acemq_policy *policy);
int64_t acemq_policy_wait(const acemq_policy *policy, int64_t attempt);
int acemq_policy_waits_in_broker(const acemq_policy *policy, int64_t delay);
int64_t acemq_policy_jittered(const acemq_policy *policy, int64_t delay, double unit);
int acemq_policy_retries(const acemq_policy *policy, int64_t attempt, int64_t age);
size_t acemq_policy_rung_count(const acemq_policy *policy);
int64_t acemq_policy_rung_delay(const acemq_policy *policy, size_t index);
int64_t acemq_policy_choose_rung(const acemq_policy *policy, int64_t delay);
acemq_status acemq_policy_rung_name(const acemq_policy *policy, const char *queue, int64_t delay, char name[256],
    acemq_error **error);
acemq_status acemq_policy_rung_arguments(const acemq_policy *policy, const char *queue, int64_t delay, acemq_table
    **arguments, acemq_error **error);
acemq_status acemq_consumer_options_init(acemq_consumer_options *options, size_t size);
acemq_status acemq_consumer_open(acemq_connection *connection, const char *queue, const acemq_consumer_options
    *options, acemq_consumer **consumer, acemq_error **error);
acemq_status acemq_consumer_next(acemq_consumer *consumer, int64_t timeout, acemq_delivery **delivery, acemq_error
    **error);
void acemq_consumer_wake(acemq_consumer *consumer);
int acemq_consumer_fd(const acemq_consumer *consumer);
acemq_status acemq_consumer_drain(acemq_consumer *consumer, int64_t timeout, int *finished, acemq_error **error);
acemq_status acemq_consumer_close(acemq_consumer *consumer, acemq_error **error);
void acemq_consumer_free(acemq_consumer *consumer);
acemq_status acemq_consumer_pause(acemq_consumer *consumer, acemq_error **error);
acemq_status acemq_consumer_resume(acemq_consumer *consumer, acemq_error **error);
int acemq_consumer_paused(const acemq_consumer *consumer);
acemq_status acemq_consumer_set_prefetch(acemq_consumer *consumer, int64_t prefetch, acemq_error **error);
int64_t acemq_consumer_prefetch(const acemq_consumer *consumer);
acemq_status acemq_consumer_get_work(const acemq_consumer *consumer, acemq_work **work, acemq_error **error);
acemq_status acemq_consumer_get_counters(const acemq_consumer *consumer, acemq_consumer_counters *counters,
    acemq_error **error);
int acemq_consumer_subscribed(const acemq_consumer *consumer);
acemq_status acemq_keyring_new(acemq_keyring **keyring, acemq_error **error);
acemq_status acemq_keyring_add(acemq_keyring *keyring, const char *id, acemq_bytes key, acemq_error **error);
acemq_status acemq_keyring_write_with(acemq_keyring *keyring, const char *id, acemq_error **error);
void acemq_keyring_free(acemq_keyring *keyring);
acemq_status acemq_codec_encrypted(const acemq_keyring *keyring, const acemq_codec *inner, acemq_codec **codec,
    acemq_error **error);
acemq_status acemq_group_options_init(acemq_group_options *options, size_t size);
acemq_status acemq_group_open(acemq_connection *connection, const char *queue, const acemq_group_options *options,
    acemq_group **group, acemq_error **error);
acemq_status acemq_group_next(acemq_group *group, int64_t timeout, acemq_delivery **delivery, acemq_error **error);
void acemq_group_wake(acemq_group *group);
int acemq_group_fd(const acemq_group *group);
acemq_status acemq_group_scale(acemq_group *group, int64_t members, acemq_error **error);
int64_t acemq_group_members(const acemq_group *group);
acemq_status acemq_group_set_prefetch(acemq_group *group, int64_t prefetch, acemq_error **error);
int64_t acemq_group_prefetch(const acemq_group *group);
acemq_status acemq_group_pause(acemq_group *group, acemq_error **error);
acemq_status acemq_group_resume(acemq_group *group, acemq_error **error);
int acemq_group_paused(const acemq_group *group);
acemq_status acemq_group_drain(acemq_group *group, int64_t timeout, int *finished, acemq_work **left, acemq_error
    **error);
acemq_status acemq_group_get_work(const acemq_group *group, acemq_work **work, acemq_error **error);
acemq_status acemq_group_close(acemq_group *group, acemq_error **error);
void acemq_group_free(acemq_group *group);
acemq_status acemq_group_get_counters(const acemq_group *group, acemq_consumer_counters *counters, acemq_error
    **error);
int acemq_group_subscribed(const acemq_group *group);
acemq_status acemq_health_check(const acemq_connection *connection, acemq_health *health, char **json, acemq_error
    **error);
const char *acemq_health_name(acemq_health health);
acemq_message *acemq_message_encoded(const acemq_codec *codec, const void *payload, size_t length);
acemq_message *acemq_message_verbatim(const void *body, size_t length, const acemq_table *headers);
void acemq_message_free(acemq_message *message);
void acemq_message_set_id(acemq_message *message, const char *id);
void acemq_message_set_type(acemq_message *message, const char *type);
void acemq_message_set_version(acemq_message *message, int32_t version);
void acemq_message_set_correlation(acemq_message *message, const char *correlation);
void acemq_message_set_causation(acemq_message *message, const char *causation);
void acemq_message_set_origin(acemq_message *message, const char *origin);
void acemq_message_caused_by(acemq_message *message, const acemq_delivery *parent);
void acemq_message_set_route(acemq_message *message, const char *steps, int32_t position, const char *route_id);
acemq_bytes acemq_message_body(const acemq_message *message);
void acemq_message_set_header(acemq_message *message, const char *name, const char *text);
void acemq_message_set_headers(acemq_message *message, const acemq_table *headers);
void acemq_message_set_content_type(acemq_message *message, const char *content_type);
void acemq_message_set_reply_to(acemq_message *message, const char *reply_to);
void acemq_message_set_priority(acemq_message *message, int priority);
void acemq_message_set_expiration(acemq_message *message, int64_t milliseconds);
void acemq_message_set_transient(acemq_message *message);
void acemq_message_set_property(acemq_message *message, acemq_property property, const char *text);
void acemq_message_set_property_number(acemq_message *message, acemq_property property, int64_t number);
void acemq_free(void *memory);
void acemq_new_id(char id[37]);
acemq_status acemq_dead_letter_queue(const char *queue, char name[256], acemq_error **error);
acemq_status acemq_parked_queue(const char *queue, char name[256], acemq_error **error);
acemq_status acemq_duration_parse(const char *text, int64_t *milliseconds, acemq_error **error);
acemq_status acemq_duration_format(int64_t milliseconds, char text[24], acemq_error **error);
int64_t acemq_partition(acemq_bytes key, int64_t partitions, acemq_partition_rule rule);
acemq_status acemq_claim_frame_read(acemq_bytes body, acemq_claim_frame *frame, acemq_bytes *rest, acemq_error
    **error);
acemq_status acemq_claim_frame_write(acemq_claim_frame frame, acemq_bytes rest, void **framed, size_t *length,
    acemq_error **error);
acemq_status acemq_encrypted_frame_read(acemq_bytes body, acemq_encrypted_frame *frame, acemq_error **error);
int acemq_codec_reads(const char *codec, const char *content_type);
acemq_status acemq_partitioning_init(acemq_partitioning *partitioning, size_t size);
int acemq_partition_rule_named(const char *name);
acemq_status acemq_ordered_queue(const char *name, const acemq_partitioning *partitioning, acemq_bytes key, const
    acemq_message *message, char queue[256], acemq_error **error);
acemq_status acemq_ordered_options_init(acemq_ordered_options *options, size_t size);
acemq_status acemq_ordered_open(acemq_connection *connection, const char *name, const acemq_ordered_options *options,
    acemq_ordered **ordered, acemq_error **error);
acemq_status acemq_ordered_next(acemq_ordered *ordered, int64_t timeout, acemq_delivery **delivery, acemq_error
    **error);
void acemq_ordered_wake(acemq_ordered *ordered);
int acemq_ordered_fd(const acemq_ordered *ordered);
acemq_status acemq_ordered_pause(acemq_ordered *ordered, acemq_error **error);
acemq_status acemq_ordered_resume(acemq_ordered *ordered, int64_t partition, acemq_error **error);
int acemq_ordered_paused(const acemq_ordered *ordered);
int acemq_ordered_subscribed(const acemq_ordered *ordered);
int acemq_ordered_halted(const acemq_ordered *ordered, int64_t partition, acemq_error **why);
acemq_status acemq_ordered_get_gaps(const acemq_ordered *ordered, acemq_gaps **gaps, acemq_error **error);
size_t acemq_gaps_count(const acemq_gaps *gaps);
uint64_t acemq_gaps_total(const acemq_gaps *gaps);
int64_t acemq_gaps_partition(const acemq_gaps *gaps, size_t index);
const char *acemq_gaps_id(const acemq_gaps *gaps, size_t index);
const char *acemq_gaps_reason(const acemq_gaps *gaps, size_t index);
int64_t acemq_gaps_time(const acemq_gaps *gaps, size_t index);
int acemq_gaps_parked(const acemq_gaps *gaps, size_t index);
void acemq_gaps_free(acemq_gaps *gaps);
acemq_status acemq_ordered_drain(acemq_ordered *ordered, int64_t timeout, int *finished, acemq_work **left,
    acemq_error **error);
acemq_status acemq_ordered_close(acemq_ordered *ordered, acemq_error **error);
void acemq_ordered_free(acemq_ordered *ordered);
acemq_status acemq_ordered_get_counters(const acemq_ordered *ordered, acemq_consumer_counters *counters, acemq_error
    **error);
acemq_status acemq_outbox_options_init(acemq_outbox_options *options, size_t size);
acemq_status acemq_outbox_open(const char *store, const acemq_outbox_options *options, acemq_outbox **outbox,
    acemq_error **error);
void acemq_outbox_free(acemq_outbox *outbox);
acemq_status acemq_outbox_enqueue(acemq_outbox *outbox, const char *exchange, const char *routing_key, const
    acemq_message *message, int64_t timeout, char id[257], acemq_error **error);
acemq_status acemq_outbox_statement_new(const char *table, acemq_placeholder placeholder, const char *exchange, const
    char *routing_key, const acemq_message *message, acemq_outbox_statement **statement, acemq_error **error);
const char *acemq_outbox_statement_text(const acemq_outbox_statement *statement);
size_t acemq_outbox_statement_count(const acemq_outbox_statement *statement);
const char *acemq_outbox_statement_value(const acemq_outbox_statement *statement, size_t index);
const char *acemq_outbox_statement_id(const acemq_outbox_statement *statement);
void acemq_outbox_statement_free(acemq_outbox_statement *statement);
acemq_status acemq_outbox_pending(acemq_outbox *outbox, int64_t max, int64_t timeout, acemq_outbox_list **list,
    acemq_error **error);
acemq_status acemq_outbox_retired(acemq_outbox *outbox, int64_t max, int64_t timeout, acemq_outbox_list **list,
    acemq_error **error);
size_t acemq_outbox_list_count(const acemq_outbox_list *list);
acemq_status acemq_outbox_list_row(const acemq_outbox_list *list, size_t index, acemq_outbox_row *row, acemq_error
    **error);
void acemq_outbox_list_free(acemq_outbox_list *list);
acemq_status acemq_outbox_count(acemq_outbox *outbox, int64_t timeout, acemq_outbox_counts *counts, acemq_error
    **error);
acemq_status acemq_outbox_release(acemq_outbox *outbox, const char *id, int64_t timeout, uint64_t *released,
    acemq_error **error);
acemq_status acemq_outbox_purge_published(acemq_outbox *outbox, int64_t age, int64_t timeout, uint64_t *purged,
    acemq_error **error);
acemq_status acemq_relay_options_init(acemq_relay_options *options, size_t size);
acemq_status acemq_relay_start(acemq_connection *connection, acemq_outbox *outbox, const acemq_relay_options *options,
    acemq_relay **relay, acemq_error **error);
void acemq_relay_wake(acemq_relay *relay);
acemq_status acemq_relay_stop(acemq_relay *relay, int64_t timeout, acemq_error **error);
void acemq_relay_free(acemq_relay *relay);
acemq_status acemq_relay_count(acemq_relay *relay, acemq_relay_counters *counters, acemq_error **error);
acemq_status acemq_publisher_options_init(acemq_publisher_options *options, size_t size);
acemq_status acemq_publisher_new(acemq_connection *connection, const acemq_publisher_options *options, acemq_publisher
    **publisher, acemq_error **error);
void acemq_publisher_free(acemq_publisher *publisher);
int acemq_publisher_has_room(const acemq_publisher *publisher, size_t bytes);
acemq_status acemq_publisher_submit(acemq_publisher *publisher, const char *routing_key, const acemq_message *message,
    int64_t timeout, int64_t token, acemq_error **error);
acemq_status acemq_queue_count(acemq_connection *connection, const char *queue, int64_t timeout, uint64_t *ready,
    uint64_t *consumers, acemq_error **error);
acemq_status acemq_queue_purge(acemq_connection *connection, const char *queue, int64_t timeout, uint64_t *messages,
    acemq_error **error);
acemq_status acemq_queue_delete(acemq_connection *connection, const char *queue, int64_t timeout, uint64_t *messages,
    acemq_error **error);
acemq_status acemq_browser_options_init(acemq_browser_options *options, size_t size);
acemq_status acemq_browser_open(acemq_connection *connection, const char *queue, const acemq_browser_options *options,
    acemq_browser **browser, acemq_error **error);
acemq_status acemq_browser_next(acemq_browser *browser, const acemq_delivery **delivery, acemq_error **error);
acemq_status acemq_browser_remove(acemq_browser *browser, acemq_error **error);
void acemq_browser_free(acemq_browser *browser);
acemq_status acemq_replay_options_init(acemq_replay_options *options, size_t size);
acemq_status acemq_replay_pending(acemq_connection *connection, const char *queue, acemq_failure_queue source, int64_t
    timeout, uint64_t *pending, acemq_error **error);
acemq_status acemq_replay(acemq_connection *connection, const char *queue, const acemq_replay_options *options,
    acemq_replay_result *result, acemq_error **error);
acemq_status acemq_time_parse(const char *text, int64_t *seconds, int32_t *nanoseconds, acemq_error **error);
acemq_status acemq_time_format(int64_t epoch_milliseconds, char out[21], acemq_error **error);
acemq_topology *acemq_topology_new(void);
acemq_status acemq_topology_parse(const char *json, size_t length, acemq_topology **topology, acemq_error **error);
void acemq_topology_free(acemq_topology *topology);
void acemq_topology_consumer(acemq_topology *topology, const char *queue, const acemq_policy *retry);
acemq_status acemq_topology_validate(const acemq_topology *topology, acemq_error **error);
acemq_status acemq_topology_plan(const acemq_topology *topology, acemq_plan **plan, acemq_error **error);
acemq_status acemq_topology_dry_run(acemq_connection *connection, const acemq_topology *topology, int64_t timeout,
    acemq_plan **plan, acemq_error **error);
acemq_status acemq_topology_apply(acemq_connection *connection, const acemq_topology *topology, int64_t timeout,
    acemq_plan **plan, acemq_error **error);
size_t acemq_plan_count(const acemq_plan *plan);
int acemq_plan_has_drift(const acemq_plan *plan);
acemq_plan_kind acemq_plan_get_kind(const acemq_plan *plan, size_t index);
acemq_plan_state acemq_plan_get_state(const acemq_plan *plan, size_t index);
const char *acemq_plan_name(const acemq_plan *plan, size_t index);
const char *acemq_plan_type(const acemq_plan *plan, size_t index);
const char *acemq_plan_exchange(const acemq_plan *plan, size_t index);
const char *acemq_plan_routing_key(const acemq_plan *plan, size_t index);
const acemq_table *acemq_plan_arguments(const acemq_plan *plan, size_t index);
const char *acemq_plan_differing(const acemq_plan *plan, size_t index);
const char *acemq_plan_ours(const acemq_plan *plan, size_t index);
const char *acemq_plan_theirs(const acemq_plan *plan, size_t index);
void acemq_plan_free(acemq_plan *plan);
const char *acemq_version(void);
int acemq_abi_version(void);
int acemq_has(const char *feature);
]]
