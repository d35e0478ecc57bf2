/* What every exported function does first: looking at what it was handed. Errors are
 * ACE_INVALID_ARGUMENT and name the parameter. */
#ifndef ACE_DOOR_ARGUMENTS_H
#define ACE_DOOR_ARGUMENTS_H

#include "acemq/common.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdbool.h>

ace_code ace_argument_present(const void *pointer, const char *name, ace_error **error);
/* Not NULL and UTF-8. */
ace_code ace_argument_text(const char *text, const char *name, ace_error **error);
/* The same, but NULL is fine. */
ace_code ace_argument_optional_text(const char *text, const char *name, ace_error **error);
/* Data that is NULL has length 0. */
ace_code ace_argument_bytes(acemq_bytes bytes, const char *name, ace_error **error);
/* 0 to ACEMQ_FOREVER. */
ace_code ace_argument_timeout(int64_t timeout, ace_error **error);
ace_code ace_argument_range(int64_t value, int64_t least, int64_t most, const char *name,
                            ace_error **error);

/* The size of a struct whose last field this is: what it had in the release that ended there. */
#define ACE_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/*
 * Copies the caller's option struct, whose first member is its size, to `copy` of `known` bytes.
 * Refused: a size below that of the first release, and bytes past what this library knows that are
 * not zero, since they ask for something that it cannot do.
 */
ace_code ace_options_read(const void *options, size_t known, size_t first_release, void *copy,
                          const char *name, ace_error **error);
/* Fills the caller's struct of `size` bytes with the defaults, and with zeros past them. */
ace_code ace_options_fill(void *options, size_t size, const void *defaults, size_t known,
                          size_t first_release, const char *name, ace_error **error);

ace_bytes ace_bytes_from_public(acemq_bytes bytes);
acemq_bytes ace_bytes_to_public(ace_bytes bytes);

#endif
