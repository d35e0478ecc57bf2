/* Whether a connection works: read from what is known, so that the answer never waits. */
#ifndef ACE_ENGINE_HEALTH_H
#define ACE_ENGINE_HEALTH_H

#include "engine/connection.h"

#include <jansson.h>

typedef enum ace_health { /* the numbers are those of the public acemq_health */
                          ACE_HEALTH_UP = 1,
                          ACE_HEALTH_DEGRADED = 2,
                          ACE_HEALTH_DOWN = 3,
} ace_health;

/* What a consumer says of itself. */
typedef struct ace_consumer_health {
    const char *queue;
    bool subscribed;
    bool away; /* not subscribed, against its will */
    uint64_t in_flight;
    uint64_t waiting;
    const char *failing_hop; /* the queue that hops do not reach; NULL */
} ace_consumer_health;

typedef struct ace_health_report {
    ace_health health;
    char reason[512];       /* the first that was found; "" when it is up */
    char blocked[256];      /* the broker's words; "" when it is not blocked */
    const char *publishing; /* static: the state of the link */
    const char *consuming;
    json_t *consumers;
} ace_health_report;

/* Fills it in; ace_health_release() afterwards, also on failure. ACE_OUT_OF_MEMORY. */
ace_code ace_health_read(ace_connection *connection, ace_health_report *report, ace_error **error);
void ace_health_release(ace_health_report *report);
/* For members, while they are asked. */
void ace_health_add(ace_health_report *report, const ace_consumer_health *consumer);

const char *ace_health_name(ace_health health);
/* The whole as one JSON object, which the caller frees; NULL: no memory. */
char *ace_health_json(const ace_health_report *report);

#endif
