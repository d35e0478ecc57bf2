/* Consumers of the ABI, and what groups and ordered consumers share with them. */
#ifndef ACE_DOOR_CONSUMER_H
#define ACE_DOOR_CONSUMER_H

#include "acemq/consumer.h"
#include "contract/policy.h"
#include "engine/consumer.h"

/* The application's handler, behind the engine's. */
typedef struct ace_pushed {
    acemq_handler handler;
    void *user;
    acemq_destructor destructor;
} ace_pushed;

/* An owned one; NULL: no memory. */
ace_pushed *ace_pushed_new(acemq_handler handler, void *user, acemq_destructor destructor);

/* Everything that can be refused before a thought is spent on the broker. `given` may be NULL. */
ace_code ace_consume_read(const acemq_connection *connection, const char *queue,
                          const acemq_consumer_options *given, acemq_consumer_options *options,
                          ace_error **error);
/* What was read, for the engine; borrows from it, and from `policy`, which is filled. `handler`
 * NULL: pull; else it is the consumer's from its opening on. */
ace_code ace_consume_translate(const acemq_connection *connection, const char *queue,
                               const acemq_consumer_options *read, ace_pushed *handler,
                               ace_policy *policy, ace_consumer_options *options,
                               ace_error **error);

/* Fills the caller's struct. */
ace_code ace_counters_to_public(const ace_consumer_counters *counted,
                                acemq_consumer_counters *counters, ace_error **error);

#endif
