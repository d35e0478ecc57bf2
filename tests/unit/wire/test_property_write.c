#include "wire/property_write.h"

#include "samples.h"
#include "wire/content.h"
#include "wire/frame.h"

#include <stdlib.h>

#define ROUNDS    20000
#define FRAME_MAX 131072u

/* rabbitmq-c's own bytes are the measure. */
START_TEST(any_properties_are_written_as_rabbitmq_c_writes_them)
{
    static uint8_t expected[FRAME_MAX];
    static uint8_t written[FRAME_MAX];
    uint64_t state = 20240607;
    amqp_pool_t pool;
    init_amqp_pool(&pool, 65536);
    size_t compared = 0;
    for (int round = 0; round < ROUNDS; round++) {
        amqp_basic_properties_t properties;
        sample_properties(&state, &pool, &properties);
        size_t size = 0;
        if (ace_content_measure(&properties, FRAME_MAX, &size, NULL) == ACE_OK) {
            amqp_bytes_t room = {sizeof expected, expected};
            int length = amqp_encode_properties(AMQP_BASIC_CLASS, &properties, room);
            uint8_t *end = ace_properties_write(written, &properties);
            if (length < 0 || end - written != length || (size_t)length != size - 12 ||
                memcmp(written, expected, (size_t)length) != 0) {
                ck_abort_msg("round %d differs", round);
            }
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
    Suite *suite = suite_create("wire property write");
    TCase *tests = tcase_create("write");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, any_properties_are_written_as_rabbitmq_c_writes_them);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
