/*
 * The content header of a plain publication, in one pass. Plain is one without headers of the
 * application, route and expiration, as nearly all are. What is written here is, byte for byte,
 * what ace_publication_build() and ace_content_write_header() make of it, in a third of the time.
 */
#ifndef ACE_WIRE_PLAIN_HEADER_H
#define ACE_WIRE_PLAIN_HEADER_H

#include "contract/publish.h"

#include <stdbool.h>

bool ace_publication_is_plain(const ace_publication *publication);

/* Both expect a plain one that ace_publication_check() took. The first is the size of the frame's
 * payload; the second writes so much and returns its end, right behind the message id. */
size_t ace_plain_header_size(const ace_publication *publication);
uint8_t *ace_plain_header_write(uint8_t *to, const ace_publication *publication,
                                uint64_t body_size);

#endif
