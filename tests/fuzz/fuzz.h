/*
 * What the fuzz targets share: taking the input apart, and saying what must hold. Each fuzz_*.c is
 * one target; libFuzzer calls its LLVMFuzzerTestOneInput() with one input after the other, and a
 * crash, a sanitizer's finding, a leak, too much memory or a broken demand is a finding.
 */
#ifndef ACE_TESTS_FUZZ_H
#define ACE_TESTS_FUZZ_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts with the place and the words when it does not hold. */
#define FUZZ_DEMAND(holds) fuzz_demand(holds, #holds, __FILE__, __LINE__)
void fuzz_demand(bool holds, const char *what, const char *file, int line);

typedef struct fuzz_input { /* borrows the target's input */
    const uint8_t *data;
    size_t left;
} fuzz_input;

/* What is taken from an input that is used up is 0 or empty. */
uint8_t fuzz_take_byte(fuzz_input *input);
uint16_t fuzz_take_short(fuzz_input *input);
uint64_t fuzz_take_long(fuzz_input *input); /* eight bytes */
ace_bytes fuzz_take_bytes(fuzz_input *input, size_t length);
ace_bytes fuzz_take_counted(fuzz_input *input); /* a length byte and so many bytes */
ace_bytes fuzz_take_rest(fuzz_input *input);

/* An error of a call that failed with `code`: it is there, says the same code, and its message is
 * one printable line of UTF-8. Frees it. */
void fuzz_check_error(ace_code code, ace_error *error);

#endif
