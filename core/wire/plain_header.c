#include "wire/plain_header.h"

#include "wire/big_endian.h"
#include "wire/property_fields.h"

#include <string.h>

bool ace_publication_is_plain(const ace_publication *publication)
{
    const ace_envelope *envelope = publication->envelope;
    bool has_headers = publication->headers != NULL && publication->headers->num_entries > 0;
    return !has_headers && publication->expiration < 0 && envelope->route_length == 0 &&
           envelope->error.length == 0 && envelope->claim.length == 0;
}

/* A name and the kind of its value; macros, since the compiler then knows their lengths. */
#define NAME_SIZE(name) (sizeof(name) + 1)
#define NAME_WRITE(to, name, kind)                                                                 \
    (*(to) = sizeof(name) - 1, memcpy((to) + 1, name kind, sizeof(name)), (to) + NAME_SIZE(name))
#define TEXT_SIZE(name, value) ((value).length == 0 ? 0 : NAME_SIZE(name) + 4 + (value).length)
#define TEXT_WRITE(to, name, value)                                                                \
    ((value).length == 0 ? (to) : write_long(NAME_WRITE(to, name, "S"), value))

static size_t table_size(const ace_envelope *envelope)
{
    return 4 + TEXT_SIZE(ACE_HEADER_ID, envelope->id) + TEXT_SIZE(ACE_HEADER_TYPE, envelope->type) +
           TEXT_SIZE(ACE_HEADER_CORRELATION, envelope->correlation) +
           TEXT_SIZE(ACE_HEADER_CAUSATION, envelope->causation) +
           TEXT_SIZE(ACE_HEADER_ORIGIN, envelope->origin) + NAME_SIZE(ACE_HEADER_VERSION) + 4 +
           NAME_SIZE(ACE_HEADER_ATTEMPT) + 4 + NAME_SIZE(ACE_HEADER_FIRST_SEEN) + 8;
}

static size_t short_size(ace_bytes text)
{
    return text.length == 0 ? 0 : 1 + text.length;
}

size_t ace_plain_header_size(const ace_publication *publication)
{
    return ACE_CONTENT_HEAD_SIZE + 2 + short_size(publication->content_type) +
           table_size(publication->envelope) + 1 + (publication->priority < 0 ? 0 : 1) +
           short_size(publication->reply_to) + short_size(publication->envelope->id);
}

static uint8_t *write_long(uint8_t *to, ace_bytes text)
{
    ace_write_u32(to, (uint32_t)text.length);
    memcpy(to + 4, text.data, text.length);
    return to + 4 + text.length;
}

static uint8_t *write_short(uint8_t *to, ace_bytes text)
{
    if (text.length == 0) {
        return to;
    }
    *to = (uint8_t)text.length;
    memcpy(to + 1, text.data, text.length);
    return to + 1 + text.length;
}

static uint8_t *write_int32(uint8_t *to, int32_t value)
{
    ace_write_u32(to, (uint32_t)value);
    return to + 4;
}

static uint8_t *write_table(uint8_t *to, const ace_envelope *envelope, int64_t now)
{
    uint8_t *at = to + 4;
    at = TEXT_WRITE(at, ACE_HEADER_ID, envelope->id);
    at = TEXT_WRITE(at, ACE_HEADER_TYPE, envelope->type);
    at = TEXT_WRITE(at, ACE_HEADER_CORRELATION, envelope->correlation);
    at = TEXT_WRITE(at, ACE_HEADER_CAUSATION, envelope->causation);
    at = TEXT_WRITE(at, ACE_HEADER_ORIGIN, envelope->origin);
    at = write_int32(NAME_WRITE(at, ACE_HEADER_VERSION, "I"), envelope->version);
    at = write_int32(NAME_WRITE(at, ACE_HEADER_ATTEMPT, "I"), envelope->attempt);
    at = NAME_WRITE(at, ACE_HEADER_FIRST_SEEN, "l");
    ace_write_u64(at, (uint64_t)(envelope->first_seen > 0 ? envelope->first_seen : now));
    at += 8;
    ace_write_u32(to, (uint32_t)(at - to - 4));
    return at;
}

static uint16_t flags_of(const ace_publication *publication)
{
    amqp_flags_t flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
    flags |= publication->content_type.length > 0 ? AMQP_BASIC_CONTENT_TYPE_FLAG : 0;
    flags |= publication->priority >= 0 ? AMQP_BASIC_PRIORITY_FLAG : 0;
    flags |= publication->reply_to.length > 0 ? AMQP_BASIC_REPLY_TO_FLAG : 0;
    flags |= publication->envelope->id.length > 0 ? AMQP_BASIC_MESSAGE_ID_FLAG : 0;
    return (uint16_t)flags;
}

uint8_t *ace_plain_header_write(uint8_t *to, const ace_publication *publication, uint64_t body_size)
{
    ace_write_u16(to, AMQP_BASIC_CLASS);
    ace_write_u16(to + 2, 0);
    ace_write_u64(to + 4, body_size);
    ace_write_u16(to + ACE_CONTENT_HEAD_SIZE, flags_of(publication));
    to = write_short(to + ACE_CONTENT_HEAD_SIZE + 2, publication->content_type);
    to = write_table(to, publication->envelope, publication->now);
    *to++ = publication->transient ? AMQP_DELIVERY_NONPERSISTENT : AMQP_DELIVERY_PERSISTENT;
    if (publication->priority >= 0) {
        *to++ = (uint8_t)publication->priority;
    }
    to = write_short(to, publication->reply_to);
    return write_short(to, publication->envelope->id);
}
