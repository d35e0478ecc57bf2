/* A URL's text while it is read, shared by the files that read it. Nobody else includes this. */
#ifndef ACE_ENGINE_URL_TEXT_H
#define ACE_ENGINE_URL_TEXT_H

#include "base/error.h"
#include "engine/url.h"

#include <stddef.h>
#include <stdint.h>

#define ACE_URL_UNSET (-1)

/* A stretch of the text; errors say where in the whole it lies. */
typedef struct ace_url_part {
    const char *whole;
    const char *start;
    const char *end;
} ace_url_part;

size_t ace_url_position(ace_url_part text, const char *at); /* from 1 */
ace_url_part ace_url_cut(ace_url_part text, const char *start, const char *end);
const char *ace_url_find(ace_url_part text, const char *characters); /* any of them; NULL */

/* ACE_PARSE with the place. */
ace_code ace_url_bad(ace_url_part text, const char *at, const char *what, ace_error **error);
/* Percent-decoded into memory of its own; what *out held is freed. */
ace_code ace_url_decode(ace_url_part text, const char *field, size_t limit, char **out,
                        ace_error **error);
ace_code ace_url_number(ace_url_part text, int64_t least, int64_t most, int32_t *out,
                        const char *field, ace_error **error);

/* url_options.c: what stands behind the question mark. */
ace_code ace_url_options(ace_url_part text, ace_url *url, ace_error **error);

#endif
