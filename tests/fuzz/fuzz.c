#include "fuzz/fuzz.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_demand(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
        abort();
    }
}

ace_bytes fuzz_take_bytes(fuzz_input *input, size_t length)
{
    if (length > input->left) {
        length = input->left;
    }
    ace_bytes taken = {input->data, length};
    input->data += length;
    input->left -= length;
    return taken;
}

uint8_t fuzz_take_byte(fuzz_input *input)
{
    ace_bytes taken = fuzz_take_bytes(input, 1);
    return taken.length == 1 ? taken.data[0] : 0;
}

uint16_t fuzz_take_short(fuzz_input *input)
{
    unsigned high = fuzz_take_byte(input);
    return (uint16_t)(high << 8 | fuzz_take_byte(input));
}

uint64_t fuzz_take_long(fuzz_input *input)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | fuzz_take_byte(input);
    }
    return value;
}

ace_bytes fuzz_take_counted(fuzz_input *input)
{
    uint8_t length = fuzz_take_byte(input);
    return fuzz_take_bytes(input, length);
}

ace_bytes fuzz_take_rest(fuzz_input *input)
{
    return fuzz_take_bytes(input, input->left);
}

void fuzz_check_error(ace_code code, ace_error *error)
{
    FUZZ_DEMAND(code != ACE_OK);
    FUZZ_DEMAND(error != NULL);
    FUZZ_DEMAND(ace_error_code(error) == code);
    const char *message = ace_error_message(error);
    size_t length = strlen(message);
    FUZZ_DEMAND(length > 0);
    FUZZ_DEMAND(ace_utf8_is_valid(message, length));
    for (size_t i = 0; i < length; i++) {
        FUZZ_DEMAND((uint8_t)message[i] >= ' ' && message[i] != 0x7F);
    }
    ace_error_free(error);
}
