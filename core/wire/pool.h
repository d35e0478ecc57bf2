/* rabbitmq-c's pools where memory runs out. */
#ifndef ACE_WIRE_POOL_H
#define ACE_WIRE_POOL_H

#include <amqp.h>

/* After a decode has failed: rabbitmq-c (up to 0.14) loses the page for whose entry in the pool's
 * list it has no memory. Only for pools whose pages are all rabbitmq-c's own. */
void ace_pool_drop_lost_page(amqp_pool_t *pool);

#endif
