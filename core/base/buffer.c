#include "base/buffer.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64

bool ace_buffer_grow(ace_buffer *buffer, size_t extra)
{
    if (extra > SIZE_MAX - buffer->length) {
        return false;
    }
    size_t needed = buffer->length + extra;
    size_t capacity = buffer->capacity < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : buffer->capacity;
    while (capacity < needed) {
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    }
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

bool ace_buffer_append_text(ace_buffer *buffer, const char *text)
{
    return ace_buffer_append(buffer, text, strlen(text));
}

bool ace_buffer_format(ace_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !ace_buffer_reserve(buffer, (size_t)length + 1)) {
        return false;
    }
    va_start(arguments, format);
    int written =
        vsnprintf((char *)buffer->data + buffer->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    if (written != length) {
        return false;
    }
    buffer->length += (size_t)length;
    return true;
}

void ace_buffer_consume(ace_buffer *buffer, size_t length)
{
    if (length >= buffer->length) {
        buffer->length = 0;
        return;
    }
    if (length == 0) {
        return;
    }
    memmove(buffer->data, buffer->data + length, buffer->length - length);
    buffer->length -= length;
}

void ace_buffer_clear(ace_buffer *buffer)
{
    buffer->length = 0;
}

void ace_buffer_free(ace_buffer *buffer)
{
    free(buffer->data);
    *buffer = (ace_buffer)ACE_BUFFER_INIT;
}

char *ace_buffer_take_text(ace_buffer *buffer)
{
    if (!ace_buffer_reserve(buffer, 1)) {
        return NULL;
    }
    buffer->data[buffer->length] = '\0';
    char *text = (char *)buffer->data;
    *buffer = (ace_buffer)ACE_BUFFER_INIT;
    return text;
}

bool ace_bytes_equal(ace_bytes a, ace_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

bool ace_bytes_equal_text(ace_bytes a, const char *text)
{
    return ace_bytes_equal(a, ace_bytes_of(text));
}

char *ace_bytes_to_text(ace_bytes bytes)
{
    if (bytes.length == SIZE_MAX) {
        return NULL;
    }
    char *text = malloc(bytes.length + 1);
    if (text == NULL) {
        return NULL;
    }
    if (bytes.length > 0) {
        memcpy(text, bytes.data, bytes.length);
    }
    text[bytes.length] = '\0';
    return text;
}
