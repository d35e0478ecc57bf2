/* The shared vectors, for the tests that hold the ABI against them. A file that is missing fails
 * the test. */
#ifndef ACEMQ_TESTS_ABI_VECTORS_H
#define ACEMQ_TESTS_ABI_VECTORS_H

#include <acemq/acemq.h>
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* jansson refuses the one integer of the vectors that is past int64: it is read as a real. */
static inline void make_real(char *text)
{
    static const char number[] = "9223372036854775808}";
    static const char real[] = "9.223372036854776e18}";
    for (char *at = strstr(text, number); at != NULL; at = strstr(at, number)) {
        memmove(at + sizeof real - 1, at + sizeof number - 1, strlen(at + sizeof number - 1) + 1);
        memcpy(at, real, sizeof real - 1);
    }
}

static inline json_t *load_vectors(const char *name)
{
    static char text[1 << 17];
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/conformance/vectors/%s", ACEMQ_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    size_t length = fread(text, 1, sizeof text - 1024, file);
    ck_assert_msg(feof(file), "%s is too long for this test", path);
    fclose(file);
    text[length] = '\0';
    make_real(text);
    json_t *vectors = json_loads(text, 0, &error);
    ck_assert_msg(vectors != NULL, "%s: %s", path, error.text);
    return vectors;
}

/* A member that must be there, so that a renamed one is no empty loop. */
static inline const json_t *member(const json_t *object, const char *name)
{
    const json_t *found = json_object_get(object, name);
    ck_assert_msg(found != NULL, "the vectors have no %s", name);
    return found;
}

static inline const char *text_at(const json_t *array, size_t index)
{
    const char *text = json_string_value(json_array_get(array, index));
    ck_assert_ptr_nonnull(text);
    return text;
}

static inline int64_t number_at(const json_t *array, size_t index)
{
    ck_assert(json_is_integer(json_array_get(array, index)));
    return json_integer_value(json_array_get(array, index));
}

#endif
