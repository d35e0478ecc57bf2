--- The types of the public headers.
-- bindings/lua/tests/declarations compares them with abi/include/acemq.
return [[
typedef struct acemq_bytes { const void *data; size_t length; } acemq_bytes;
typedef void (*acemq_destructor)(void *user);
typedef int acemq_status;
enum { ACEMQ_OK = 0, ACEMQ_E_INVALID_ARGUMENT = 1, ACEMQ_E_LIMIT = 2, ACEMQ_E_PARSE = 3, ACEMQ_E_RESERVED_HEADER = 4,
    ACEMQ_E_STATE = 5, ACEMQ_E_CLOSED = 6, ACEMQ_E_FORKED = 7, ACEMQ_E_FROM_HANDLER = 8, ACEMQ_E_WRONG_THREAD = 9,
    ACEMQ_E_SETTLED = 10, ACEMQ_E_STALE = 11, ACEMQ_E_UNSUPPORTED = 12, ACEMQ_E_OUT_OF_MEMORY = 20, ACEMQ_E_SYSTEM =
    21, ACEMQ_E_TIMEOUT = 30, ACEMQ_E_CANCELLED = 31, ACEMQ_E_UNREACHABLE = 40, ACEMQ_E_LOGIN_REFUSED = 41,
    ACEMQ_E_VHOST_REFUSED = 42, ACEMQ_E_CONNECTION_LOST = 43, ACEMQ_E_PROTOCOL = 44, ACEMQ_E_ACCESS_REFUSED = 50,
    ACEMQ_E_NOT_FOUND = 51, ACEMQ_E_LOCKED = 52, ACEMQ_E_DIFFERS = 53, ACEMQ_E_CHANNEL_CLOSED = 54, ACEMQ_E_UNROUTABLE
    = 60, ACEMQ_E_NACKED = 61, ACEMQ_E_REFUSED = 62, ACEMQ_E_UNKNOWN_OUTCOME = 63, ACEMQ_E_DECODE = 70, ACEMQ_E_STORE
    = 80, ACEMQ_E_STORE_FULL = 81, ACEMQ_E_FENCED = 82, ACEMQ_E_TLS = 90, ACEMQ_E_TLS_NAME = 91, ACEMQ_E_TLS_UNTRUSTED
    = 92, ACEMQ_E_TLS_EXPIRED = 93, ACEMQ_E_TLS_PLAIN_SERVER = 94, ACEMQ_E_TLS_WANTED = 95,
    ACEMQ_E_TLS_CLIENT_CERTIFICATE = 96, ACEMQ_E_TLS_VERSION = 97 };
typedef struct acemq_error acemq_error;
typedef struct acemq_broker acemq_broker;
typedef struct acemq_cancel acemq_cancel;
typedef struct acemq_codec acemq_codec;
typedef int (*acemq_decode_callback)(acemq_bytes body, const char *content_type, char *reason, size_t size, void
    *user);
typedef struct acemq_claim_store acemq_claim_store;
typedef struct acemq_claim_directory_options { size_t size; int64_t largest; int32_t mode; int32_t reserved; }
    acemq_claim_directory_options;
struct acemq_connection;
typedef struct acemq_metrics acemq_metrics;
typedef enum acemq_metric_kind { ACEMQ_METRIC_COUNTER = 1, ACEMQ_METRIC_GAUGE = 2, ACEMQ_METRIC_DURATION = 3,
    ACEMQ_METRIC_DISTRIBUTION = 4 } acemq_metric_kind;
typedef struct acemq_observation acemq_observation;
typedef void (*acemq_metrics_observer)(const acemq_observation *observation, void *user);
typedef struct acemq_metrics_options { size_t size; int64_t series_limit; acemq_metrics_observer observer; void *user;
    acemq_destructor destructor; } acemq_metrics_options;
struct acemq_connection;
typedef struct acemq_settlement acemq_settlement;
typedef void (*acemq_settlement_callback)(const acemq_settlement *settlement, void *user);
typedef enum acemq_event_kind { ACEMQ_EVENT_CONNECTION = 1, ACEMQ_EVENT_CREDENTIALS_WANTED = 2, ACEMQ_EVENT_CONFIRM =
    3, ACEMQ_EVENT_SETTLE_FAILED = 4, ACEMQ_EVENT_CONSUMER_ENDED = 5, ACEMQ_EVENT_LOG = 6,
    ACEMQ_EVENT_INTERCEPTOR_FAILED = 7, ACEMQ_EVENT_SETTLED = 8, ACEMQ_EVENT_METRIC = 9, ACEMQ_EVENT_PARTITION_HALTED
    = 10, ACEMQ_EVENT_ORDER_GAP = 11 } acemq_event_kind;
typedef struct acemq_event acemq_event;
typedef struct acemq_work acemq_work;
typedef struct acemq_connection acemq_connection;
typedef enum acemq_credentials_source { ACEMQ_CREDENTIALS_URL = 0, ACEMQ_CREDENTIALS_FILE = 1,
    ACEMQ_CREDENTIALS_ENVIRONMENT = 2, ACEMQ_CREDENTIALS_CALLBACK = 3, ACEMQ_CREDENTIALS_EVENT = 4 }
    acemq_credentials_source;
typedef int (*acemq_credentials_callback)(char *name, char *password, size_t size, void *user);
typedef enum acemq_log_level { ACEMQ_LOG_NONE = 0, ACEMQ_LOG_ERROR = 1, ACEMQ_LOG_WARNING = 2, ACEMQ_LOG_INFO = 3,
    ACEMQ_LOG_DEBUG = 4 } acemq_log_level;
typedef void (*acemq_log_callback)(acemq_log_level level, const char *line, void *user);
typedef struct acemq_connect_options { size_t size; const char *name; int64_t timeout; int64_t call_timeout; int64_t
    heartbeat; int64_t reconnect_initial; int64_t reconnect_max; int64_t outstanding; int64_t publish_timeout; int64_t
    max_body; int32_t frame_max; int32_t channel_max; int32_t credentials; int32_t log_level; const char
    *credentials_file; const char *user_variable; const char *password_variable; acemq_credentials_callback
    credentials_callback; void *credentials_user; acemq_log_callback log_callback; void *log_user; acemq_cancel
    *cancel; uint64_t events; int64_t max_queued; int64_t max_output; int64_t max_headers; int32_t max_header_entries;
    int32_t max_nesting; const char *ca_file; const char *ca_folder; const char *certificate_file; const char
    *key_file; const char *key_password; const char *server_name; int32_t verify; int32_t keepalive_count; int64_t
    keepalive; int64_t keepalive_interval; int64_t tcp_user_timeout; } acemq_connect_options;
typedef enum acemq_connection_state { ACEMQ_CONNECTION_OPEN = 1, ACEMQ_CONNECTION_BLOCKED = 2,
    ACEMQ_CONNECTION_RECONNECTING = 3, ACEMQ_CONNECTION_FAILED = 4, ACEMQ_CONNECTION_CLOSED = 5 }
    acemq_connection_state;
typedef enum acemq_kind { ACEMQ_KIND_VOID = 0, ACEMQ_KIND_BOOL = 1, ACEMQ_KIND_INT8 = 2, ACEMQ_KIND_UINT8 = 3,
    ACEMQ_KIND_INT16 = 4, ACEMQ_KIND_UINT16 = 5, ACEMQ_KIND_INT32 = 6, ACEMQ_KIND_UINT32 = 7, ACEMQ_KIND_INT64 = 8,
    ACEMQ_KIND_UINT64 = 9, ACEMQ_KIND_FLOAT = 10, ACEMQ_KIND_DOUBLE = 11, ACEMQ_KIND_DECIMAL = 12, ACEMQ_KIND_STRING =
    13, ACEMQ_KIND_BYTES = 14, ACEMQ_KIND_ARRAY = 15, ACEMQ_KIND_TABLE = 16, ACEMQ_KIND_TIMESTAMP = 17 } acemq_kind;
typedef struct acemq_table acemq_table;
typedef struct acemq_value acemq_value;
typedef struct acemq_array acemq_array;
typedef struct acemq_envelope acemq_envelope;
typedef enum acemq_property { ACEMQ_PROPERTY_CONTENT_TYPE = 1, ACEMQ_PROPERTY_CONTENT_ENCODING = 2,
    ACEMQ_PROPERTY_DELIVERY_MODE = 3, ACEMQ_PROPERTY_PRIORITY = 4, ACEMQ_PROPERTY_CORRELATION_ID = 5,
    ACEMQ_PROPERTY_REPLY_TO = 6, ACEMQ_PROPERTY_EXPIRATION = 7, ACEMQ_PROPERTY_MESSAGE_ID = 8,
    ACEMQ_PROPERTY_TIMESTAMP = 9, ACEMQ_PROPERTY_TYPE = 10, ACEMQ_PROPERTY_USER_ID = 11, ACEMQ_PROPERTY_APP_ID = 12 }
    acemq_property;
typedef enum acemq_outcome { ACEMQ_ACCEPTED = 0, ACEMQ_FAILED = 1, ACEMQ_REJECTED = 2, ACEMQ_PARKED = 3 }
    acemq_outcome;
typedef struct acemq_delivery acemq_delivery;
typedef struct acemq_idempotency acemq_idempotency;
typedef enum acemq_claim_answer { ACEMQ_CLAIMED = 1, ACEMQ_CLAIM_DUPLICATE = 2, ACEMQ_CLAIM_IN_PROGRESS = 3 }
    acemq_claim_answer;
typedef enum acemq_durability { ACEMQ_DURABLE = 0, ACEMQ_NOSYNC = 1 } acemq_durability;
typedef struct acemq_idempotency_options { size_t size; const char *name; int64_t retention; int64_t timeout; int64_t
    entries; int64_t map_limit; int64_t statement_timeout; int32_t connections; int32_t durability; }
    acemq_idempotency_options;
typedef struct acemq_claims acemq_claims;
typedef struct acemq_claim_view { const char *key; const char *token; int64_t recorded_at; int64_t expires_at; int32_t
    confirmed; int32_t reserved; } acemq_claim_view;
typedef struct acemq_policy acemq_policy;
typedef struct acemq_consumer acemq_consumer;
typedef enum acemq_declare { ACEMQ_DECLARE_YES = 0, ACEMQ_DECLARE_VERIFY = 1 } acemq_declare;
typedef int (*acemq_claim_key)(acemq_delivery *delivery, char *key, size_t size, void *user);
typedef struct acemq_consumer_options { size_t size; const acemq_policy *retry; const acemq_codec *codec; const
    acemq_table *arguments; const char *tag; acemq_cancel *cancel; int64_t timeout; int64_t prefetch_bytes; int64_t
    acknowledgement_limit; int32_t prefetch; int32_t declare; int32_t requeue_on_failure; int32_t exclusive;
    acemq_idempotency *idempotency; int64_t lease; int64_t put_back_wait; acemq_claim_key claim_key; void
    *claim_key_user; int32_t renew; int32_t reserved_claims; } acemq_consumer_options;
typedef acemq_outcome (*acemq_handler)(acemq_delivery *delivery, void *user);
typedef struct acemq_consumer_counters { size_t size; uint64_t acknowledged; uint64_t rejected; uint64_t retried;
    uint64_t dead_lettered; uint64_t parked; uint64_t duplicates; uint64_t in_flight; uint64_t waiting; uint64_t
    delivered; uint64_t hops_failed; uint64_t rungs_missing; uint64_t in_progress; uint64_t store_failures; uint64_t
    fenced; uint64_t unconfirmed; } acemq_consumer_counters;
typedef struct acemq_keyring acemq_keyring;
typedef struct acemq_group acemq_group;
typedef struct acemq_group_options { size_t size; const acemq_consumer_options *consumer; int64_t drain_budget;
    int64_t members; } acemq_group_options;
typedef enum acemq_health { ACEMQ_HEALTH_UP = 1, ACEMQ_HEALTH_DEGRADED = 2, ACEMQ_HEALTH_DOWN = 3 } acemq_health;
typedef struct acemq_message acemq_message;
typedef enum acemq_partition_rule { ACEMQ_PARTITION_UNSIGNED = 0, ACEMQ_PARTITION_FLOOR_MOD = 1,
    ACEMQ_PARTITION_MASKED = 2 } acemq_partition_rule;
typedef enum acemq_claim_frame { ACEMQ_CLAIM_NONE = 0, ACEMQ_CLAIM_INLINE = 1, ACEMQ_CLAIM_STORED = 2 }
    acemq_claim_frame;
typedef struct acemq_encrypted_frame { acemq_bytes key_id; acemq_bytes authenticated; acemq_bytes nonce; acemq_bytes
    ciphertext; acemq_bytes tag; } acemq_encrypted_frame;
typedef acemq_bytes (*acemq_key_callback)(const acemq_message *message, void *user);
typedef struct acemq_partitioning { size_t size; const char *header; acemq_key_callback key; void *user; int64_t
    partitions; int64_t rule; } acemq_partitioning;
typedef enum acemq_order_failure { ACEMQ_ORDER_STOP = 0, ACEMQ_ORDER_RETRY_IN_PLACE = 1, ACEMQ_ORDER_SKIP = 2 }
    acemq_order_failure;
typedef struct acemq_ordered acemq_ordered;
typedef struct acemq_ordered_options { size_t size; const acemq_consumer_options *consumer; int64_t partitions;
    int64_t failure; } acemq_ordered_options;
typedef struct acemq_gaps acemq_gaps;
struct MDB_env;
struct MDB_txn;
struct pg_conn;
typedef struct acemq_outbox acemq_outbox;
typedef struct acemq_outbox_options { size_t size; const char *name; int64_t timeout; int32_t attempts; int32_t
    reserved; } acemq_outbox_options;
typedef enum acemq_placeholder { ACEMQ_PLACEHOLDER_DOLLAR = 0, ACEMQ_PLACEHOLDER_QUESTION = 1,
    ACEMQ_PLACEHOLDER_PERCENT = 2 } acemq_placeholder;
typedef struct acemq_outbox_statement acemq_outbox_statement;
typedef struct acemq_outbox_list acemq_outbox_list;
typedef struct acemq_outbox_row { size_t size; const char *id; const char *exchange; const char *routing_key; const
    char *content_type; const char *headers; const char *last_error; acemq_bytes body; int64_t created_at; int64_t
    leased_until; int32_t attempts; int32_t reserved; } acemq_outbox_row;
typedef struct acemq_outbox_counts { size_t size; uint64_t pending; uint64_t retired; uint64_t published; int64_t
    oldest_age; uint64_t reserved; } acemq_outbox_counts;
typedef struct acemq_relay acemq_relay;
typedef struct acemq_relay_options { size_t size; int64_t every; int64_t lease; int32_t batch; int32_t reserved; }
    acemq_relay_options;
typedef struct acemq_relay_counters { size_t size; uint64_t published; uint64_t failed; uint64_t retired; uint64_t
    passes; uint64_t reserved; } acemq_relay_counters;
typedef struct acemq_publisher acemq_publisher;
typedef struct acemq_publisher_options { size_t size; const char *exchange; const char *routing_key; acemq_cancel
    *cancel; int64_t timeout; int32_t unconfirmed; int32_t optional; } acemq_publisher_options;
typedef struct acemq_browser acemq_browser;
typedef struct acemq_browser_options { size_t size; acemq_cancel *cancel; int64_t max; int64_t timeout; int32_t force;
    int32_t reserved; } acemq_browser_options;
typedef enum acemq_failure_queue { ACEMQ_DEAD_LETTERS = 0, ACEMQ_PARKED_LETTERS = 1 } acemq_failure_queue;
typedef int (*acemq_replay_filter)(const acemq_delivery *delivery, void *user);
typedef void (*acemq_replay_progress)(uint64_t replayed, uint64_t declined, uint64_t total, void *user);
typedef struct acemq_replay_options { size_t size; const char *id; acemq_replay_filter filter; void *filter_user;
    acemq_replay_progress progress; void *progress_user; acemq_cancel *cancel; int64_t max; int64_t timeout; int64_t
    acknowledgement_limit; int32_t source; int32_t keep_attempts; int32_t dry_run; int32_t reserved; }
    acemq_replay_options;
typedef struct acemq_replay_result { size_t size; uint64_t replayed; uint64_t declined; uint64_t left; uint64_t
    reserved; } acemq_replay_result;
typedef struct acemq_topology acemq_topology;
typedef enum acemq_queue_type { ACEMQ_QUEUE_QUORUM = 0, ACEMQ_QUEUE_CLASSIC = 1, ACEMQ_QUEUE_STREAM = 2 }
    acemq_queue_type;
typedef struct acemq_plan acemq_plan;
typedef enum acemq_plan_kind { ACEMQ_PLAN_EXCHANGE = 1, ACEMQ_PLAN_QUEUE = 2, ACEMQ_PLAN_BINDING = 3 }
    acemq_plan_kind;
typedef enum acemq_plan_state { ACEMQ_PLAN_UNKNOWN = 0, ACEMQ_PLAN_CREATE = 1, ACEMQ_PLAN_PRESENT = 2,
    ACEMQ_PLAN_DIFFERS = 3 } acemq_plan_state;
]]
