#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>

#define SECONDS_A_DAY 86400
#define DAYS_TO_1970  719468 /* from 1 March of the year 0 */
#define DAYS_AN_ERA   146097 /* 400 years */

typedef struct reader {
    const char *text;
    size_t length;
    size_t position;
    ace_error **error;
} reader;

typedef struct civil {
    int year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
    int32_t nanoseconds;
    int offset_minutes;
} civil;

/* Years are counted from March, so that the leap day is the last one of its year. */
static int64_t days_from_civil(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_AN_ERA + day_of_era - DAYS_TO_1970;
}

static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t shifted = days + DAYS_TO_1970;
    int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_AN_ERA - 1)) / DAYS_AN_ERA;
    int64_t day_of_era = shifted - era * DAYS_AN_ERA;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / (DAYS_AN_ERA - 1)) /
        365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && is_leap ? 29 : days[month - 1];
}

static ace_code expected(const reader *from, size_t position, const char *what)
{
    return ace_fail(from->error, ACE_PARSE, "position %zu: expected %s", position + 1, what);
}

static bool next_is_digit(const reader *from)
{
    return from->position < from->length && from->text[from->position] >= '0' &&
           from->text[from->position] <= '9';
}

static ace_code read_number(reader *from, int width, int lowest, int highest, const char *what,
                            int *out)
{
    size_t start = from->position;
    int value = 0;
    for (int i = 0; i < width; i++) {
        if (!next_is_digit(from)) {
            return expected(from, from->position, what);
        }
        value = value * 10 + (from->text[from->position] - '0');
        from->position++;
    }
    if (value < lowest || value > highest) {
        return expected(from, start, what);
    }
    *out = value;
    return ACE_OK;
}

static bool skip(reader *from, char wanted)
{
    if (from->position >= from->length || from->text[from->position] != wanted) {
        return false;
    }
    from->position++;
    return true;
}

static ace_code read_mark(reader *from, char wanted, const char *what)
{
    return skip(from, wanted) ? ACE_OK : expected(from, from->position, what);
}

static ace_code read_date(reader *from, civil *out)
{
    ace_code code = read_number(from, 4, 1, 9999, "a year of 4 digits, 0001 to 9999", &out->year);
    if (code == ACE_OK) {
        code = read_mark(from, '-', "-");
    }
    if (code == ACE_OK) {
        code = read_number(from, 2, 1, 12, "a month of 2 digits, 01 to 12", &out->month);
    }
    if (code == ACE_OK) {
        code = read_mark(from, '-', "-");
    }
    if (code != ACE_OK) {
        return code;
    }
    return read_number(from, 2, 1, days_in_month(out->year, out->month),
                       "a day of 2 digits that this month has", &out->day);
}

static ace_code read_fraction(reader *from, civil *out)
{
    if (!skip(from, '.')) {
        return ACE_OK;
    }
    if (!next_is_digit(from)) {
        return expected(from, from->position, "a digit after the point");
    }
    int32_t unit = 100000000;
    while (next_is_digit(from)) {
        /* Past the ninth digit the unit is 0, which cuts and never rounds. */
        out->nanoseconds += unit * (from->text[from->position] - '0');
        unit /= 10;
        from->position++;
    }
    return ACE_OK;
}

static ace_code read_time_of_day(reader *from, civil *out)
{
    ace_code code = read_number(from, 2, 0, 23, "an hour of 2 digits, 00 to 23", &out->hour);
    if (code == ACE_OK) {
        code = read_mark(from, ':', ":");
    }
    if (code == ACE_OK) {
        code = read_number(from, 2, 0, 59, "a minute of 2 digits, 00 to 59", &out->minute);
    }
    if (code == ACE_OK) {
        code = read_mark(from, ':', ":");
    }
    if (code == ACE_OK) {
        code = read_number(from, 2, 0, 59, "a second of 2 digits, 00 to 59", &out->second);
    }
    return code == ACE_OK ? read_fraction(from, out) : code;
}

static ace_code read_zone(reader *from, civil *out)
{
    if (skip(from, 'Z')) {
        return ACE_OK;
    }
    int sign = 1;
    if (skip(from, '-')) {
        sign = -1;
    } else if (!skip(from, '+')) {
        return expected(from, from->position, "Z, or an offset such as +01:00");
    }
    int hours = 0;
    int minutes = 0;
    ace_code code = read_number(from, 2, 0, 23, "offset hours of 2 digits, 00 to 23", &hours);
    if (code == ACE_OK) {
        code = read_mark(from, ':', ":");
    }
    if (code == ACE_OK) {
        code = read_number(from, 2, 0, 59, "offset minutes of 2 digits, 00 to 59", &minutes);
    }
    out->offset_minutes = sign * (hours * 60 + minutes);
    return code;
}

ace_code ace_time_parse(const char *text, size_t length, ace_instant *out, ace_error **error)
{
    reader from = {text, length, 0, error};
    civil read = {0};
    ace_code code = read_date(&from, &read);
    if (code == ACE_OK) {
        code = read_mark(&from, 'T', "T");
    }
    if (code == ACE_OK) {
        code = read_time_of_day(&from, &read);
    }
    if (code == ACE_OK) {
        code = read_zone(&from, &read);
    }
    if (code != ACE_OK) {
        return code;
    }
    if (from.position != length) {
        return expected(&from, from.position, "the end");
    }
    int64_t days = days_from_civil(read.year, read.month, read.day);
    int64_t second_of_day = read.hour * 3600 + read.minute * 60 + read.second;
    out->seconds = days * SECONDS_A_DAY + second_of_day - (int64_t)read.offset_minutes * 60;
    out->nanoseconds = read.nanoseconds;
    return ACE_OK;
}

static int64_t divide_down(int64_t value, int64_t by)
{
    return value / by - (value % by < 0 ? 1 : 0);
}

static void write_digits(char *out, int64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

int ace_time_format(int64_t epoch_milliseconds, char out[ACE_TIME_LENGTH + 1])
{
    int64_t seconds = divide_down(epoch_milliseconds, 1000);
    int64_t days = divide_down(seconds, SECONDS_A_DAY);
    int64_t second_of_day = seconds - days * SECONDS_A_DAY;
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    if (year < 1 || year > 9999) {
        return 0;
    }
    static const char shape[] = "0000-00-00T00:00:00Z";
    for (size_t i = 0; i < sizeof shape; i++) {
        out[i] = shape[i];
    }
    write_digits(out, year, 4);
    write_digits(out + 5, month, 2);
    write_digits(out + 8, day, 2);
    write_digits(out + 11, second_of_day / 3600, 2);
    write_digits(out + 14, second_of_day / 60 % 60, 2);
    write_digits(out + 17, second_of_day % 60, 2);
    return 1;
}
