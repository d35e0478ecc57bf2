/* Writing the property flags and list of class basic: what rabbitmq-c writes, byte by byte, in a
 * third of the time, since what was measured is not measured again. */
#ifndef ACE_WIRE_PROPERTY_WRITE_H
#define ACE_WIRE_PROPERTY_WRITE_H

#include <amqp.h>
#include <amqp_framing.h>
#include <stdint.h>

/* Expects properties that ace_content_measure() took, and room for what it said. Returns the end.
 */
uint8_t *ace_properties_write(uint8_t *to, const amqp_basic_properties_t *properties);

#endif
