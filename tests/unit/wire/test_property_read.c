#include "wire/property_read.h"

#include "samples.h"
#include "wire/content.h"
#include "wire/frame.h"
#include "wire/property_write.h"

#include <stdlib.h>

#define ROUNDS    20000
#define FRAME_MAX 131072u

/* What rabbitmq-c makes of a list is the measure, once it wrote both down again: it compares by
 * what there is and not by where it lies. */
static void check_same(int round, amqp_basic_properties_t *read, amqp_basic_properties_t *expected)
{
    static uint8_t first[FRAME_MAX];
    static uint8_t second[FRAME_MAX];
    int length =
        amqp_encode_properties(AMQP_BASIC_CLASS, read, (amqp_bytes_t){sizeof first, first});
    int other =
        amqp_encode_properties(AMQP_BASIC_CLASS, expected, (amqp_bytes_t){sizeof second, second});
    if (length < 0 || length != other || memcmp(first, second, (size_t)length) != 0) {
        ck_abort_msg("round %d differs", round);
    }
}

/* All that is there is in the list, whatever the struct was before. */
static void check_absent(int round, const amqp_basic_properties_t *read)
{
    static const uint8_t nothing[sizeof(amqp_bytes_t)];
    static const size_t sizes[] = {[ACE_PROPERTY_TEXT] = sizeof(amqp_bytes_t),
                                   [ACE_PROPERTY_TABLE] = sizeof(amqp_table_t),
                                   [ACE_PROPERTY_OCTET] = 1,
                                   [ACE_PROPERTY_TIMESTAMP] = sizeof(uint64_t)};
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        const uint8_t *member = (const uint8_t *)read + field->offset;
        if ((read->_flags & field->flag) == 0 && memcmp(member, nothing, sizes[field->kind]) != 0) {
            ck_abort_msg("round %d has a %s", round, field->label);
        }
    }
}

static void compare(int round, uint8_t *list, size_t length, amqp_pool_t *pool)
{
    ace_property_shape shape;
    if (ace_properties_check(list, length, &shape, NULL) != ACE_OK) {
        ck_abort_msg("round %d does not pass", round);
    }
    void *room = malloc(shape.decoded); /* and not a byte more */
    memset(room, 0xA5, shape.decoded);
    amqp_basic_properties_t *read = ace_properties_read(list, room);
    void *expected = NULL;
    int status =
        amqp_decode_properties(AMQP_BASIC_CLASS, pool, (amqp_bytes_t){length, list}, &expected);
    if (status < 0 || read->_flags != ((amqp_basic_properties_t *)expected)->_flags) {
        ck_abort_msg("round %d has other flags", round);
    }
    check_same(round, read, expected);
    check_absent(round, read);
    free(room);
}

START_TEST(any_properties_are_read_as_rabbitmq_c_reads_them)
{
    static uint8_t written[FRAME_MAX];
    uint64_t state = 20240608;
    amqp_pool_t pool;
    init_amqp_pool(&pool, 65536);
    size_t compared = 0;
    for (int round = 0; round < ROUNDS; round++) {
        amqp_basic_properties_t properties;
        sample_properties(&state, &pool, &properties);
        size_t size = 0;
        if (ace_content_measure(&properties, FRAME_MAX, &size, NULL) == ACE_OK) {
            size_t length = (size_t)(ace_properties_write(written, &properties) - written);
            uint8_t *list = malloc(length);
            ck_assert_ptr_nonnull(list);
            memcpy(list, written, length);
            compare(round, list, length, &pool);
            free(list);
            compared++;
        }
        recycle_amqp_pool(&pool);
    }
    empty_amqp_pool(&pool);
    ck_assert_uint_gt(compared, ROUNDS / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire property read");
    TCase *tests = tcase_create("read");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, any_properties_are_read_as_rabbitmq_c_reads_them);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
