/* A growable run of bytes, and the view of one that somebody else owns. */
#ifndef ACE_BASE_BUFFER_H
#define ACE_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct ace_bytes { /* borrowed */
    const uint8_t *data;
    size_t length;
} ace_bytes;

typedef struct ace_buffer {
    uint8_t *data;
    size_t length;
    size_t capacity;
} ace_buffer;

#define ACE_BUFFER_INIT                                                                            \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

/* The functions that grow return false when memory is gone or the length would pass SIZE_MAX; the
 * buffer is then unchanged. */
bool ace_buffer_grow(ace_buffer *buffer, size_t extra); /* for ace_buffer_reserve() */

static inline bool ace_buffer_reserve(ace_buffer *buffer, size_t extra)
{
    return extra <= buffer->capacity - buffer->length || ace_buffer_grow(buffer, extra);
}

static inline bool ace_buffer_append(ace_buffer *buffer, const void *data, size_t length)
{
    if (length == 0) {
        return true;
    }
    if (!ace_buffer_reserve(buffer, length)) {
        return false;
    }
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    return true;
}

bool ace_buffer_append_text(ace_buffer *buffer, const char *text);
bool ace_buffer_format(ace_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The new, uninitialised bytes: at least one, so that NULL always means that memory is gone. */
static inline uint8_t *ace_buffer_extend(ace_buffer *buffer, size_t length)
{
    if (!ace_buffer_reserve(buffer, length == 0 ? 1 : length)) {
        return NULL;
    }
    uint8_t *added = buffer->data + buffer->length;
    buffer->length += length;
    return added;
}

void ace_buffer_consume(ace_buffer *buffer, size_t length); /* drops bytes from the front */
void ace_buffer_clear(ace_buffer *buffer);                  /* keeps the memory */
void ace_buffer_free(ace_buffer *buffer);                   /* leaves an empty buffer */
/* Hands the text over NUL-terminated; the caller frees it. NULL when memory is gone. */
char *ace_buffer_take_text(ace_buffer *buffer);

static inline ace_bytes ace_bytes_of(const char *text)
{
    ace_bytes bytes = {(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
    return bytes;
}

bool ace_bytes_equal(ace_bytes a, ace_bytes b);
bool ace_bytes_equal_text(ace_bytes a, const char *text);
char *ace_bytes_to_text(ace_bytes bytes); /* a NUL-terminated copy the caller frees */

#endif
