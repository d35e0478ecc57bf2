/* What became of a delivery, told once it is off the consumer's hands: for whoever ends a span. */
#ifndef ACE_ENGINE_SETTLED_H
#define ACE_ENGINE_SETTLED_H

#include <stddef.h>
#include <stdint.h>

/* Texts are never NULL; "" where there is none. */
typedef struct acemq_settlement {
    const char *queue;
    const char *exchange;
    const char *routing_key;
    const char *id;
    const char *type;
    const char *correlation;
    const char *outcome; /* static: those of the metrics, or "put_back", "lost" */
    const char *traceparent;
    const char *tracestate;
    int32_t attempt;
    int64_t microseconds; /* with its receiver */
    char *texts;          /* of a copy: all of them */
} ace_settled;

/* Owned; NULL: no memory. */
ace_settled *ace_settled_copy(const ace_settled *settled);
void ace_settled_free(void *settled);

typedef void ace_settled_watch(const ace_settled *settled, void *user);

#endif
