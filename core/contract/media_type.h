/* Media types: compared in lower case, parameters ignored, "" is none. */
#ifndef ACE_CONTRACT_MEDIA_TYPE_H
#define ACE_CONTRACT_MEDIA_TYPE_H

#include "base/buffer.h"

/* The type without parameters and the spaces around it; borrowed. */
ace_bytes ace_media_type_essence(ace_bytes content_type);

/* `pattern` in lower case: "application/json", "text/" followed by "*" for a whole family, "+json"
 * for a suffix, "*" for everything, "" for none. */
bool ace_media_type_matches(ace_bytes content_type, const char *pattern);

bool ace_media_type_is_json(ace_bytes content_type);    /* json, text/json, any +json, none */
bool ace_media_type_is_text(ace_bytes content_type);    /* any text/ */
bool ace_media_type_is_msgpack(ace_bytes content_type); /* the three of section 13 */
bool ace_media_type_is_encrypted(ace_bytes content_type);

#endif
