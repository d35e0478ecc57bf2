#include "base64.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cli_base64_write(FILE *out, const void *bytes, size_t length)
{
    const uint8_t *data = bytes;
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at < 3 ? length - at : 3;
        uint32_t group = (uint32_t)data[at] << 16;
        group |= left > 1 ? (uint32_t)data[at + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)data[at + 2] : 0;
        fputc(digits[group >> 18], out);
        fputc(digits[group >> 12 & 63], out);
        fputc(left > 1 ? digits[group >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[group & 63] : '=', out);
    }
}

/* Reads four characters; the number of bytes in them, 0 when they are not base64. */
static size_t read_group(const char *text, uint8_t out[3])
{
    uint32_t group = 0;
    size_t padding = text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
        if (digit == NULL && i < 4 - padding) {
            return 0;
        }
        group = group << 6 | (i < 4 - padding ? (uint32_t)(digit - digits) : 0);
    }
    out[0] = (uint8_t)(group >> 16);
    out[1] = (uint8_t)(group >> 8);
    out[2] = (uint8_t)group;
    /* The bits past the last byte are zero in the one form that there is of it. */
    uint32_t unused = padding == 0 ? 0 : padding == 1 ? group & 0xff : group & 0xffff;
    return unused == 0 ? 3 - padding : 0;
}

uint8_t *cli_base64_read(const char *text, size_t length, size_t *decoded)
{
    uint8_t *bytes = length % 4 != 0 ? NULL : malloc(length / 4 * 3 + 3);
    size_t count = 0;
    for (size_t at = 0; bytes != NULL && at < length; at += 4) {
        size_t width = read_group(text + at, bytes + count);
        if (width == 0 || (width < 3 && at + 4 < length)) {
            free(bytes);
            return NULL;
        }
        count += width;
    }
    *decoded = count;
    return bytes;
}
