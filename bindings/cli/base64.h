/* Base64 of RFC 4648, with its padding. */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void cli_base64_write(FILE *out, const void *bytes, size_t length);

/* The decoded bytes, owned, freed with free(), and never NULL but where `text` is not base64 or
 * memory is gone. */
uint8_t *cli_base64_read(const char *text, size_t length, size_t *decoded);

#endif
