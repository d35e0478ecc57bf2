/* Reading property flags and a list that ace_properties_check() passed: what rabbitmq-c makes of
 * them, in a third of the time, since what was checked is not checked again. */
#ifndef ACE_WIRE_PROPERTY_READ_H
#define ACE_WIRE_PROPERTY_READ_H

#include <amqp.h>
#include <amqp_framing.h>
#include <stdint.h>

/* `room`, aligned to 8, has what the shape's `decoded` says. The properties are at its start, and
 * point into it and into the list. Absent ones are zero. */
amqp_basic_properties_t *ace_properties_read(uint8_t *list, void *room);

#endif
