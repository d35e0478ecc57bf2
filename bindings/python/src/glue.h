/* What the binding does in C, each in one crossing: a turn of a consumer, and the begin of a
 * publish. The first turn of a message and the settling of the one before it go together, so that a
 * message costs one crossing and nothing is held back for the sake of speed. */

/* Whose turn it is. */
enum { ACEMQ_PY_CONSUMER = 0, ACEMQ_PY_GROUP = 1, ACEMQ_PY_ORDERED = 2 };

typedef struct acemq_py_turn {
    /* of the delivery that came */
    acemq_delivery *delivery;
    const void *body;
    size_t length;
    /* why none came, and why the one before could not be settled: owned, NULL where nothing failed
     */
    acemq_error *error;
    acemq_error *settle_error;
} acemq_py_turn;

/* Settles `settled` when it is not NULL, and takes the next delivery. Answers as
 * acemq_consumer_next(). */
acemq_status acemq_py_next(acemq_py_turn *turn, void *source, int kind, acemq_delivery *settled,
                           int outcome, int64_t timeout);

/* What a publish needs beyond its body, where it is more than a type and an id: as the setters of
 * message.h have it. NULL, and numbers below 0: not set. */
typedef struct acemq_py_fields {
    const char *content_type;
    const char *id;
    const char *type;
    const char *correlation;
    const char *causation;
    const char *origin;
    const char *reply_to;
    const acemq_table *headers;
    const acemq_delivery *parent;
    const acemq_codec *codec;
    int64_t expiration;
    int32_t version;
    int32_t priority;
    int32_t transient;
} acemq_py_fields;

/* Owned; NULL when memory is gone. The body is copied. */
acemq_message *acemq_py_message(const void *body, size_t length, const acemq_py_fields *fields);
/* The same, begun, in one call. */
acemq_status acemq_py_begin(acemq_publisher *publisher, const char *routing_key, const void *body,
                            size_t length, const acemq_py_fields *fields, int64_t timeout,
                            acemq_receipt **receipt, acemq_error **error);
/* A message with a content type, a type and an id at most. */
acemq_status acemq_py_begin_plain(acemq_publisher *publisher, const char *routing_key,
                                  const void *body, size_t length, const char *content_type,
                                  const char *type, const char *id, int64_t timeout,
                                  acemq_receipt **receipt, acemq_error **error);
/* The same for acemq_publisher_submit(). */
acemq_status acemq_py_submit(acemq_publisher *publisher, const char *routing_key, const void *body,
                             size_t length, const acemq_py_fields *fields, int64_t timeout,
                             int64_t token, acemq_error **error);
/* Waits for receipts in their order, up to the first that did not end well or is still under way,
 * and frees those that ended well. Answers how many ended well; *status and *error are of the one
 * after them, when there is one. */
size_t acemq_py_collect(acemq_receipt **receipts, size_t count, int64_t timeout,
                        acemq_status *status, acemq_error **error);
