/* Numbers as AMQP writes them: unsigned, the highest byte first, at any alignment. */
#ifndef ACE_WIRE_BIG_ENDIAN_H
#define ACE_WIRE_BIG_ENDIAN_H

#include <stdint.h>

static inline uint16_t ace_read_u16(const uint8_t *from)
{
    return (uint16_t)((from[0] << 8) | from[1]);
}

static inline uint32_t ace_read_u32(const uint8_t *from)
{
    return ((uint32_t)ace_read_u16(from) << 16) | ace_read_u16(from + 2);
}

static inline uint64_t ace_read_u64(const uint8_t *from)
{
    return ((uint64_t)ace_read_u32(from) << 32) | ace_read_u32(from + 4);
}

static inline void ace_write_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static inline void ace_write_u32(uint8_t *to, uint32_t value)
{
    ace_write_u16(to, (uint16_t)(value >> 16));
    ace_write_u16(to + 2, (uint16_t)value);
}

static inline void ace_write_u64(uint8_t *to, uint64_t value)
{
    ace_write_u32(to, (uint32_t)(value >> 32));
    ace_write_u32(to + 4, (uint32_t)value);
}

#endif
