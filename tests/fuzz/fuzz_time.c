/* RFC 3339: what parses is the instant that the C library makes of its digits, and writing it gives
 * a text of the same instant. */
#include "base/time.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST 64

static int64_t offset_of(const char *zone)
{
    int hours = 0;
    int minutes = 0;
    if (zone[0] == 'Z') {
        return 0;
    }
    FUZZ_DEMAND(sscanf(zone + 1, "%2d:%2d", &hours, &minutes) == 2);
    return (zone[0] == '-' ? -60 : 60) * (hours * INT64_C(60) + minutes);
}

static void compare_with_the_c_library(const char *text, size_t length, const ace_instant *instant)
{
    struct tm fields = {0};
    char copy[LONGEST + 1];
    memcpy(copy, text, length);
    copy[length] = '\0';
    FUZZ_DEMAND(sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d", &fields.tm_year, &fields.tm_mon,
                       &fields.tm_mday, &fields.tm_hour, &fields.tm_min, &fields.tm_sec) == 6);
    fields.tm_year -= 1900;
    fields.tm_mon -= 1;
    const char *zone = copy + strcspn(copy + 10, "Z+-") + 10;
    FUZZ_DEMAND(instant->seconds == (int64_t)timegm(&fields) - offset_of(zone));
    FUZZ_DEMAND(instant->nanoseconds >= 0 && instant->nanoseconds < 1000000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    ace_instant instant;
    ace_error *error = NULL;
    ace_code code = ace_time_parse(text, size, &instant, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return 0;
    }
    if (size <= LONGEST) {
        compare_with_the_c_library(text, size, &instant);
    }
    char written[ACE_TIME_LENGTH + 1];
    if (!ace_time_format(instant.seconds * 1000 + instant.nanoseconds / 1000000, written)) {
        return 0; /* an offset has moved it out of the years 0001 to 9999 */
    }
    ace_instant again;
    FUZZ_DEMAND(ace_time_parse(written, strlen(written), &again, NULL) == ACE_OK);
    FUZZ_DEMAND(again.seconds == instant.seconds && again.nanoseconds == 0);
    if (size == ACE_TIME_LENGTH) {
        FUZZ_DEMAND(memcmp(text, written, size) == 0);
    }
    return 0;
}
