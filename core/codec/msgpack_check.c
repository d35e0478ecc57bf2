#include "codec/msgpack.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMESTAMP_TYPE       0xff /* -1 */
#define NANOSECONDS_A_SECOND 1000000000u

typedef struct scan {
    ace_bytes body;
    size_t position;
    /* How many values each open array or map still waits for, from the outermost. */
    uint64_t waiting[ACE_MSGPACK_DEPTH];
    size_t depth;
    ace_error **error;
} scan;

/* What a first byte announces. */
typedef enum shape {
    SHAPE_FIXED,     /* `size` bytes of a number follow */
    SHAPE_BYTES,     /* a text or binary of `count` bytes */
    SHAPE_ARRAY,     /* `count` values */
    SHAPE_MAP,       /* `count` pairs */
    SHAPE_EXTENSION, /* a type byte, and `count` bytes */
} shape;

typedef struct head {
    shape shape;
    uint64_t count;
} head;

static size_t left(const scan *from)
{
    return from->body.length - from->position;
}

static ace_code ends_early(const scan *from)
{
    return ace_fail(from->error, ACE_DECODE,
                    "not MessagePack: the body ends inside a value, after %zu bytes",
                    from->body.length);
}

static ace_code read_big_endian(scan *from, size_t width, uint64_t *out)
{
    if (left(from) < width) {
        return ends_early(from);
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value = value << 8 | from->body.data[from->position + i];
    }
    from->position += width;
    *out = value;
    return ACE_OK;
}

static ace_code read_counted(scan *from, shape what, size_t width, head *out)
{
    out->shape = what;
    return read_big_endian(from, width, &out->count);
}

/* The first bytes 0xc0 to 0xdf; the others carry their count or value in themselves. */
static ace_code read_marked_head(scan *from, uint8_t first, head *out)
{
    out->shape = SHAPE_FIXED;
    out->count = 0;
    switch (first) {
    case 0xc1:
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack: byte %zu is 0xc1, which starts no value", from->position);
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return read_counted(from, SHAPE_BYTES, (size_t)1 << (first - 0xc4), out);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return read_counted(from, SHAPE_EXTENSION, (size_t)1 << (first - 0xc7), out);
    case 0xca:
        out->count = 4;
        return ACE_OK;
    case 0xcb:
        out->count = 8;
        return ACE_OK;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        out->count = UINT64_C(1) << (first - 0xcc);
        return ACE_OK;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        out->count = UINT64_C(1) << (first - 0xd0);
        return ACE_OK;
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        out->shape = SHAPE_EXTENSION;
        out->count = UINT64_C(1) << (first - 0xd4);
        return ACE_OK;
    case 0xd9:
    case 0xda:
    case 0xdb:
        return read_counted(from, SHAPE_BYTES, (size_t)1 << (first - 0xd9), out);
    case 0xdc:
    case 0xdd:
        return read_counted(from, SHAPE_ARRAY, (size_t)2 << (first - 0xdc), out);
    case 0xde:
    case 0xdf:
        return read_counted(from, SHAPE_MAP, (size_t)2 << (first - 0xde), out);
    default: /* nil, false and true */
        return ACE_OK;
    }
}

static ace_code read_head(scan *from, head *out)
{
    if (left(from) == 0) {
        return ends_early(from);
    }
    uint8_t first = from->body.data[from->position];
    from->position++;
    if (first >= 0xc0 && first <= 0xdf) {
        return read_marked_head(from, first, out);
    }
    out->shape = SHAPE_FIXED;
    out->count = 0;
    if (first >= 0x80 && first <= 0x8f) {
        out->shape = SHAPE_MAP;
        out->count = first & 0x0f;
    } else if (first >= 0x90 && first <= 0x9f) {
        out->shape = SHAPE_ARRAY;
        out->count = first & 0x0f;
    } else if (first >= 0xa0 && first <= 0xbf) {
        out->shape = SHAPE_BYTES;
        out->count = first & 0x1f;
    }
    return ACE_OK;
}

static ace_code skip_bytes(scan *from, uint64_t count)
{
    if (count > left(from)) {
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack: a value of %llu bytes is claimed where %zu are left",
                        (unsigned long long)count, left(from));
    }
    from->position += (size_t)count;
    return ACE_OK;
}

static ace_code check_timestamp(const scan *from, uint64_t count)
{
    uint64_t nanoseconds = 0;
    if (count == 8 || count == 12) {
        for (size_t i = 0; i < 4; i++) {
            nanoseconds = nanoseconds << 8 | from->body.data[from->position + i];
        }
        if (count == 8) {
            nanoseconds >>= 2; /* 30 bits of them, before 34 bits of seconds */
        }
    } else if (count != 4) {
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack: a timestamp of %llu bytes, it may have 4, 8 or 12",
                        (unsigned long long)count);
    }
    if (nanoseconds >= NANOSECONDS_A_SECOND) {
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack: a timestamp with %llu nanoseconds",
                        (unsigned long long)nanoseconds);
    }
    return ACE_OK;
}

static ace_code skip_extension(scan *from, uint64_t count)
{
    uint64_t type = 0;
    ace_code code = read_big_endian(from, 1, &type);
    if (code != ACE_OK) {
        return code;
    }
    size_t start = from->position;
    code = skip_bytes(from, count);
    if (code != ACE_OK || type != TIMESTAMP_TYPE) {
        return code;
    }
    scan at_start = *from;
    at_start.position = start;
    return check_timestamp(&at_start, count);
}

static ace_code open_container(scan *from, uint64_t values)
{
    if (from->depth == ACE_MSGPACK_DEPTH) {
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack we read: more than %d levels of nesting",
                        ACE_MSGPACK_DEPTH);
    }
    /* Each value takes a byte at least. */
    if (values > left(from)) {
        return ace_fail(from->error, ACE_DECODE,
                        "not MessagePack: %llu values are claimed where %zu bytes are left",
                        (unsigned long long)values, left(from));
    }
    from->waiting[from->depth] = values;
    from->depth++;
    return ACE_OK;
}

static ace_code read_value(scan *from)
{
    head next = {.count = 0};
    ace_code code = read_head(from, &next);
    if (code != ACE_OK) {
        return code;
    }
    switch (next.shape) {
    case SHAPE_ARRAY:
        return open_container(from, next.count);
    case SHAPE_MAP:
        return open_container(from, next.count * 2);
    case SHAPE_EXTENSION:
        return skip_extension(from, next.count);
    default:
        return skip_bytes(from, next.count);
    }
}

ace_code ace_msgpack_check(ace_bytes body, ace_error **error)
{
    if (body.length == 0) {
        return ace_fail(error, ACE_DECODE, "not MessagePack: the body is empty");
    }
    scan from = {.body = body, .error = error};
    do {
        ace_code code = read_value(&from);
        if (code != ACE_OK) {
            return code;
        }
        while (from.depth > 0 && from.waiting[from.depth - 1] == 0) {
            from.depth--;
        }
        if (from.depth > 0) {
            from.waiting[from.depth - 1]--;
        }
    } while (from.depth > 0);
    if (left(&from) > 0) {
        return ace_fail(error, ACE_DECODE, "not MessagePack: %zu bytes follow the value",
                        left(&from));
    }
    return ACE_OK;
}
