#include "contract/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool ace_base64_encode(ace_bytes bytes, ace_buffer *out)
{
    if (bytes.length > (SIZE_MAX - 4) / 4 * 3) {
        return false;
    }
    uint8_t *at = ace_buffer_extend(out, (bytes.length + 2) / 3 * 4);
    if (at == NULL) {
        return bytes.length == 0;
    }
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t left = bytes.length - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)bytes.data[i + 2] : 0;
        *at++ = (uint8_t)letters[group >> 18];
        *at++ = (uint8_t)letters[(group >> 12) & 63];
        *at++ = (uint8_t)(left > 1 ? letters[(group >> 6) & 63] : '=');
        *at++ = (uint8_t)(left > 2 ? letters[group & 63] : '=');
    }
    return true;
}

static int value_of(uint8_t letter)
{
    for (int i = 0; i < 64; i++) {
        if ((uint8_t)letters[i] == letter) {
            return i;
        }
    }
    return -1;
}

/* One group of four letters, the last `padding` of which are '='. */
static bool decode_group(const uint8_t *text, size_t padding, ace_buffer *out)
{
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(text[i]) : 0;
        if (value < 0) {
            return false;
        }
        group = group << 6 | (uint32_t)value;
    }
    uint8_t bytes[3] = {(uint8_t)(group >> 16), (uint8_t)(group >> 8), (uint8_t)group};
    size_t length = 3 - padding;
    for (size_t i = length; i < 3; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return ace_buffer_append(out, bytes, length);
}

bool ace_base64_decode(ace_bytes text, ace_buffer *out)
{
    size_t before = out->length;
    if (text.length % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.length; i += 4) {
        const uint8_t *group = text.data + i;
        bool last = i + 4 == text.length;
        size_t padding = 0;
        if (last && group[3] == '=') {
            padding = group[2] == '=' ? 2 : 1;
        }
        if (!decode_group(group, padding, out)) {
            out->length = before;
            return false;
        }
    }
    return true;
}
