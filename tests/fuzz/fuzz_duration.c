/* Durations: what parses is written as a text of the same duration. */
#include "contract/duration.h"
#include "fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t duration = -1;
    ace_error *error = NULL;
    ace_code code = ace_duration_parse((const char *)data, size, &duration, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return 0;
    }
    FUZZ_DEMAND(duration >= 0);
    char written[ACE_DURATION_LENGTH];
    int64_t again = -1;
    ace_duration_format(duration, written);
    FUZZ_DEMAND(ace_duration_parse(written, strlen(written), &again, NULL) == ACE_OK);
    FUZZ_DEMAND(again == duration);
    return 0;
}
