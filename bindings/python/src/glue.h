/* What the binding does in C, each in one crossing: a turn of a consumer, and the begin of a
 * publish. The first turn of a message and the settling of the one before it go together, so that a
 * message costs one crossing and nothing is held back for the sake of speed. */

/* Whose turn it is. */
enum { ACEMQ_PY_CONSUMER = 0, ACEMQ_PY_GROUP = 1, ACEMQ_PY_ORDERED = 2 };

typedef struct acemq_py_turn {
    /* the delivery that came; NULL when none did */
    acemq_delivery *delivery;
    const void *body;
    size_t length;
    /* why none came, and what became of settling the one before: owned where it failed */
    acemq_error *error;
    acemq_error *settle_error;
    acemq_status settled;
} acemq_py_turn;

/* Takes the next delivery. Answers as acemq_consumer_next(). */
acemq_status acemq_py_next(acemq_py_turn *turn, void *source, int kind, int64_t timeout);
/* The same after accepting the one that the turn holds. When only that fails, it answers why. */
acemq_status acemq_py_accept_and_next(acemq_py_turn *turn, void *source, int kind, int64_t timeout);

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
/* A message with a content type and a type at most; type NULL: not set. */
acemq_status acemq_py_begin_plain(acemq_publisher *publisher, const char *routing_key,
                                  const void *body, size_t length, const char *content_type,
                                  const char *type, int64_t timeout, acemq_receipt **receipt,
                                  acemq_error **error);
/* The same for acemq_publisher_submit(). */
acemq_status acemq_py_submit(acemq_publisher *publisher, const char *routing_key, const void *body,
                             size_t length, const acemq_py_fields *fields, int64_t timeout,
                             int64_t token, acemq_error **error);

/* What these answer besides the library's. */
enum {
    ACEMQ_PY_FULL = -1,    /* as many are under way as the window holds */
    ACEMQ_PY_NO_ROOM = -2, /* the publish would wait for room among those of the whole client */
    ACEMQ_PY_BUSY = -3     /* another thread is at this window */
};

/* Publishes under way, the oldest first, so that one that needs no more than a content type and a
 * type costs one crossing. All zero but for the publisher, the receipts and their number. */
typedef struct acemq_py_window {
    acemq_publisher *publisher;
    acemq_receipt **receipts; /* a ring of `size` */
    size_t size;
    size_t first;
    size_t count;
    size_t ended;       /* how many have left it since it was made */
    acemq_error *error; /* of the last call that failed: owned */
    int busy;
} acemq_py_window;

/* Begins a publish in the window. Never waits. */
acemq_status acemq_py_window_begin(acemq_py_window *window, const char *routing_key,
                                   const void *body, size_t length, const char *content_type,
                                   const char *type);
/* Takes over one that was begun. */
acemq_status acemq_py_window_add(acemq_py_window *window, acemq_receipt *receipt);
/* Waits for the oldest `count` in their order, up to the first that did not end well or is still
 * under way, which stays. */
acemq_status acemq_py_window_collect(acemq_py_window *window, size_t count, int64_t timeout);
/* The oldest, as the caller's; NULL when there is none, or another thread is at the window. */
acemq_receipt *acemq_py_window_take(acemq_py_window *window);
