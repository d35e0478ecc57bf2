#include "wire/table_check.h"

#include "wire/big_endian.h"

#include <amqp.h>
#include <stdbool.h>
#include <string.h>

#define SHOWN_NAME 60

_Static_assert(ACE_TABLE_DEPTH_MAX == 32 && ACE_TABLE_ENTRIES_MAX == 65536, "the texts say so");

typedef struct level {
    size_t end;
    size_t entries;
    bool is_table;
} level;

typedef struct walk {
    uint8_t *data;
    size_t offset;
    const char *what;
    ace_table_shape *shape;
    level levels[ACE_TABLE_DEPTH_MAX];
    int depth;
    const uint8_t *name; /* of the outermost entry under way */
    size_t name_length;
} walk;

static ace_code fail_at(const walk *at, ace_code code, const char *problem, ace_error **error)
{
    int shown = at->name_length > SHOWN_NAME ? SHOWN_NAME : (int)at->name_length;
    return ace_fail(error, code, "%s: the entry \"%.*s\" %s", at->what, shown,
                    at->name == NULL ? "" : (const char *)at->name, problem);
}

static size_t bytes_left(const walk *at)
{
    return at->levels[at->depth - 1].end - at->offset;
}

static ace_code push(walk *at, size_t end, bool is_table, ace_error **error)
{
    if (at->depth == ACE_TABLE_DEPTH_MAX) {
        fail_at(at, ACE_LIMIT, "is nested deeper than 32 levels", error);
        ace_error_field(error, at->what, ACE_TABLE_DEPTH_MAX);
        return ACE_LIMIT;
    }
    at->levels[at->depth++] = (level){end, 0, is_table};
    if (at->depth > at->shape->depth) {
        at->shape->depth = at->depth;
    }
    return ACE_OK;
}

static void pop(walk *at)
{
    const level *done = &at->levels[--at->depth];
    size_t each = done->is_table ? sizeof(amqp_table_entry_t) : sizeof(amqp_field_value_t);
    at->shape->decoded += (done->entries * each + 7) & ~(size_t)7;
}

static ace_code read_name(walk *at, ace_error **error)
{
    size_t length = at->data[at->offset];
    if (length > bytes_left(at) - 1) {
        return fail_at(at, ACE_PROTOCOL, "is followed by a name that passes the table's end",
                       error);
    }
    if (at->depth == 1) {
        at->name = at->data + at->offset + 1;
        at->name_length = length;
    }
    at->offset += 1 + length;
    return ACE_OK;
}

/* One more than the bytes of a value of fixed size; SIZED for the kinds that carry a length, 0 for
 * unknown ones. */
#define SIZED 255
static const uint8_t sizes[256] = {
    [AMQP_FIELD_KIND_VOID] = 1,      [AMQP_FIELD_KIND_BOOLEAN] = 2,
    [AMQP_FIELD_KIND_I8] = 2,        [AMQP_FIELD_KIND_U8] = 2,
    [AMQP_FIELD_KIND_I16] = 3,       [AMQP_FIELD_KIND_U16] = 3,
    [AMQP_FIELD_KIND_I32] = 5,       [AMQP_FIELD_KIND_U32] = 5,
    [AMQP_FIELD_KIND_F32] = 5,       [AMQP_FIELD_KIND_DECIMAL] = 6,
    [AMQP_FIELD_KIND_I64] = 9,       [AMQP_FIELD_KIND_U64] = 9,
    [AMQP_FIELD_KIND_F64] = 9,       [AMQP_FIELD_KIND_TIMESTAMP] = 9,
    [AMQP_FIELD_KIND_UTF8] = SIZED,  [AMQP_FIELD_KIND_BYTES] = SIZED,
    [AMQP_FIELD_KIND_ARRAY] = SIZED, [AMQP_FIELD_KIND_TABLE] = SIZED,
};

/* In both formats all exponent bits set means NaN or infinity. */
static bool is_finite(uint8_t kind, const uint8_t *value)
{
    if (kind == AMQP_FIELD_KIND_F32) {
        return (ace_read_u32(value) & 0x7F800000u) != 0x7F800000u;
    }
    if (kind == AMQP_FIELD_KIND_F64) {
        return (ace_read_u64(value) & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
    }
    return true;
}

static ace_code read_fixed(walk *at, uint8_t kind, size_t size, ace_error **error)
{
    if (size > bytes_left(at)) {
        return fail_at(at, ACE_PROTOCOL, "passes the table's end", error);
    }
    if (!is_finite(kind, at->data + at->offset)) {
        return fail_at(at, ACE_PROTOCOL, "is a float that is not a finite number", error);
    }
    at->offset += size;
    return ACE_OK;
}

static ace_code read_sized(walk *at, uint8_t kind, ace_error **error)
{
    if (bytes_left(at) < 4) {
        return fail_at(at, ACE_PROTOCOL, "passes the table's end", error);
    }
    size_t length = ace_read_u32(at->data + at->offset);
    at->offset += 4;
    if (length > bytes_left(at)) {
        return fail_at(at, ACE_PROTOCOL, "claims more bytes than its table has", error);
    }
    if (kind == AMQP_FIELD_KIND_TABLE || kind == AMQP_FIELD_KIND_ARRAY) {
        return push(at, at->offset + length, kind == AMQP_FIELD_KIND_TABLE, error);
    }
    at->offset += length;
    return ACE_OK;
}

static ace_code fail_unknown(const walk *at, uint8_t kind, ace_error **error)
{
    char problem[48] = "has the unknown kind 0x";
    static const char digits[] = "0123456789abcdef";
    size_t end = strlen(problem);
    problem[end] = digits[kind >> 4];
    problem[end + 1] = digits[kind & 15];
    return fail_at(at, ACE_PROTOCOL, problem, error);
}

static ace_code read_value(walk *at, ace_error **error)
{
    if (bytes_left(at) == 0) {
        return fail_at(at, ACE_PROTOCOL, "has no value", error);
    }
    uint8_t *kind = at->data + at->offset++;
    if (*kind == 'U') {
        *kind = AMQP_FIELD_KIND_I16;
    } else if (*kind == AMQP_FIELD_KIND_U64) {
        *kind = AMQP_FIELD_KIND_I64;
    }
    uint8_t size = sizes[*kind];
    if (size == SIZED) {
        return read_sized(at, *kind, error);
    }
    return size > 0 ? read_fixed(at, *kind, size - 1u, error) : fail_unknown(at, *kind, error);
}

static ace_code read_entry(walk *at, ace_error **error)
{
    level *top = &at->levels[at->depth - 1];
    if (++at->shape->entries > ACE_TABLE_ENTRIES_MAX) {
        ace_fail(error, ACE_LIMIT, "%s: more than %d entries", at->what, ACE_TABLE_ENTRIES_MAX);
        ace_error_field(error, at->what, ACE_TABLE_ENTRIES_MAX);
        return ACE_LIMIT;
    }
    top->entries++;
    if (top->is_table) {
        ace_code code = read_name(at, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return read_value(at, error);
}

/* Past a value that fits before `end`, and that is neither rewritten nor looked into; else NULL. */
static const uint8_t *pass_plain(uint8_t kind, const uint8_t *value, const uint8_t *end)
{
    size_t left = (size_t)(end - value);
    size_t size;
    switch (kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        if (left < 4) {
            return NULL;
        }
        size = 4 + (size_t)ace_read_u32(value);
        break;
    case AMQP_FIELD_KIND_I32:
        size = 4;
        break;
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        size = 8;
        break;
    case AMQP_FIELD_KIND_BOOLEAN:
        size = 1;
        break;
    default:
        return NULL;
    }
    return size <= left ? value + size : NULL;
}

/* The entries at the start that need no closer look, nearly always all of them, in a third of the
 * time. The first that needs one is left as it is. */
static void pass_plain_entries(walk *at)
{
    const uint8_t *from = at->data + at->offset;
    const uint8_t *end = at->data + at->levels[0].end;
    size_t entries = 0;
    while (end - from >= 2 && entries < ACE_TABLE_ENTRIES_MAX) {
        size_t length = *from;
        const uint8_t *name = from + 1;
        const uint8_t *kind = name + length;
        if (length > (size_t)(end - name) - 1) {
            break;
        }
        const uint8_t *next = pass_plain(*kind, kind + 1, end);
        if (next == NULL) {
            break;
        }
        at->name = name;
        at->name_length = length;
        from = next;
        entries++;
    }
    at->offset = (size_t)(from - at->data);
    at->levels[0].entries = entries;
    at->shape->entries = entries;
}

ace_code ace_table_check(uint8_t *data, size_t length, const char *what, ace_table_shape *shape,
                         ace_error **error)
{
    memset(shape, 0, sizeof *shape);
    if (length < 4) {
        return ace_fail(error, ACE_PROTOCOL, "%s: the table's length is cut off", what);
    }
    size_t size = ace_read_u32(data);
    if (size > length - 4) {
        return ace_fail(error, ACE_PROTOCOL, "%s: the table claims %zu bytes, %zu are there", what,
                        size, length - 4);
    }
    shape->bytes = size + 4;
    walk at; /* most of it is levels, and most of them stay unused */
    at.data = data;
    at.offset = 4;
    at.what = what;
    at.shape = shape;
    at.depth = 0;
    at.name = NULL;
    at.name_length = 0;
    ace_code code = push(&at, shape->bytes, true, error);
    pass_plain_entries(&at); /* there is room for one level */
    while (code == ACE_OK && at.depth > 0) {
        if (bytes_left(&at) == 0) {
            pop(&at);
        } else {
            code = read_entry(&at, error);
        }
    }
    return code;
}
